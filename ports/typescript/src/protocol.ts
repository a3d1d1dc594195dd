/** The port protocol, version 1: one request in, one answer out, as JSON. */
import { Pool, type AskOptions } from "./pool.js";
import { Refused, type Code } from "./refused.js";
import type { Answer, Order, Rules, Snapshot } from "./snapshot.js";

const HELLO = {
  name: "slotlending (TypeScript)",
  protocol: 1,
  features: ["try_ask", "cancel", "resize", "relend", "jobs", "state", "batch", "served", "oldest", "fifo"],
};

/** A request that the protocol does not know, or one before there is a pool. */
class BadRequest extends Error {}

type Request = Readonly<Record<string, unknown>>;

/** One conversation: the pool of the last `reset`, if there was one. */
export class Protocol {
  readonly #Pool: typeof Pool;
  #pool: Pool | undefined;

  /** @param PoolClass what `reset` makes */
  constructor(PoolClass: typeof Pool = Pool) {
    this.#Pool = PoolClass;
  }

  /** The answer to one line. Whatever the line holds, there is one. */
  answer(line: string): string {
    return JSON.stringify(told(() => this.#carryOut(parse(line))));
  }

  #carryOut(value: unknown): unknown {
    const request = asRequest(value);
    switch (required(request, "op")) {
      case "hello":
        return HELLO;
      case "batch":
        if (!Array.isArray(request["ops"])) throw new BadRequest("ops is an array of requests");
        return request["ops"].map((one: unknown) => told(() => this.#act(asRequest(one))));
      default:
        return this.#act(request);
    }
  }

  #act(request: Request): unknown {
    const op = required(request, "op");
    if (op === "reset") {
      this.#pool = new this.#Pool(cap(request), rules(request));
      return { granted: [], relent: [] } satisfies Answer;
    }
    const pool = this.#pool;
    if (!pool) throw new BadRequest("there is no pool before the first reset");
    switch (op) {
      case "ask":
        return pool.ask(required(request, "run"), askOptions(request));
      case "try_ask":
        return pool.tryAsk(required(request, "run"), askOptions(request));
      case "finish":
        return pool.finish(required(request, "run"));
      case "cancel":
        return pool.cancel(required(request, "run"));
      case "resize":
        return pool.resize(cap(request));
      case "state":
        return state(pool.snapshot());
      default:
        throw new BadRequest(`no op ${op}`);
    }
  }
}

// -- members of a request

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new BadRequest(String(error));
  }
}

function asRequest(value: unknown): Request {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new BadRequest("a request is an object");
  }
  // Without a prototype, so that no member is there that was not sent.
  return Object.assign(Object.create(null), value) as Request;
}

/** A member that is text, or undefined if it is absent or null, which is the same. */
function text(request: Request, name: string): string | undefined {
  const value = request[name] ?? undefined;
  if (value !== undefined && typeof value !== "string") throw new BadRequest(`${name} is a string`);
  return value;
}

function required(request: Request, name: string): string {
  const value = text(request, name);
  if (value === undefined) throw new BadRequest(`${name} is missing`);
  return value;
}

function askOptions(request: Request): AskOptions {
  const job = request["job"] ?? undefined;
  const isJob = (value: unknown): value is string[] =>
    Array.isArray(value) && value.every((name) => typeof name === "string");
  if (job !== undefined && !isJob(job)) throw new BadRequest("job is an array of strings");
  return { parent: text(request, "parent"), job };
}

/** What is there and is no number is a bad cap like any other: NaN is what the pool refuses. */
function cap(request: Request): number {
  const value = request["cap"];
  if (value === undefined) throw new BadRequest("cap is missing");
  return typeof value === "number" ? value : NaN;
}

function rules(request: Request): Rules {
  const relend = request["relend"] ?? false;
  if (typeof relend !== "boolean") throw new BadRequest("relend is true or false");
  return { order: order(text(request, "order") ?? "fewest_held", text(request, "tie") ?? "served"), relend };
}

function order(order: string, tie: string): Order {
  if (order === "fifo") return order;
  if (order !== "fewest_held") throw new BadRequest("order is fewest_held or fifo");
  if (tie !== "served" && tie !== "oldest") throw new BadRequest("tie is served or oldest");
  return tie;
}

// -- answers

function told(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    if (error instanceof Refused) return refusal(error.code, error.message);
    if (error instanceof BadRequest) return refusal("bad_request", error.message);
    throw error;
  }
}

function refusal(code: Code | "bad_request", message: string): unknown {
  return { error: { code, message } };
}

function state({ runs, children, ...rest }: Snapshot): unknown {
  // fromEntries makes "__proto__" a member like any other.
  return { ...rest, runs: Object.fromEntries(runs), children: Object.fromEntries(children) };
}
