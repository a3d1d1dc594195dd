import assert from "node:assert/strict";
import { test } from "node:test";

import { Pool, Refused, type Answer, type Order } from "../src/index.js";

/** An answer in one line: `x:pool y:loan`, `~z` for a run that was relent, `!code` for a refusal. */
function told(call: () => Answer): string {
  try {
    const { granted, relent } = call();
    return [...granted.map(({ run, token }) => `${run}:${token}`), ...relent.map((run) => `~${run}`)].join(" ");
  } catch (error) {
    assert(error instanceof Refused);
    return `!${error.code}`;
  }
}

/** A pool where every call is told. */
function driver(cap: number, rules?: { order?: Order; relend?: boolean }) {
  const pool = new Pool(cap, rules);
  return {
    ask: (run: string, parent?: string, job?: string[]) => told(() => pool.ask(run, { parent, job })),
    tryAsk: (run: string, parent?: string, job?: string[]) => told(() => pool.tryAsk(run, { parent, job })),
    finish: (run: string) => told(() => pool.finish(run)),
    cancel: (run: string) => told(() => pool.cancel(run)),
    resize: (cap: number) => told(() => pool.resize(cap)),
    state: () => pool.snapshot(),
  };
}

test("R1: a cap is an integer of at least 1", () => {
  for (const cap of [0, -1, 1.5, NaN, Infinity]) {
    assert.throws(() => new Pool(cap), { code: "bad_cap" });
    assert.equal(driver(1).resize(cap), "!bad_cap");
  }
});

test("R2: the parent's slot comes before a pool slot", () => {
  const pool = driver(2);
  assert.equal(pool.ask("r"), "r:pool");
  assert.equal(pool.ask("a", "r"), "a:loan");
  assert.equal(pool.ask("b", "r"), "b:pool");
  assert.equal(pool.ask("c", "r"), "");
  assert.deepEqual(pool.state().waiting, ["c"]);
  assert.deepEqual(pool.state().children.get("r"), ["a", "b"]);
});

test("R2: refusals come in order and change nothing", () => {
  const pool = driver(1);
  pool.ask("r", undefined, ["app", "one"]);
  pool.ask("w");
  const before = pool.state();
  assert.equal(pool.ask("r", "nobody", []), "!run_known");
  assert.equal(pool.ask("x", "nobody", []), "!parent_not_in_flight");
  assert.equal(pool.ask("x", "w"), "!parent_not_in_flight");
  for (const job of [[], ["app"], ["app", "one", "more"], ["w", "more"]]) {
    assert.equal(pool.ask("x", "r", job), "!job_not_leaf");
  }
  assert.equal(pool.ask("app"), "!job_not_leaf");
  assert.equal(pool.finish("w"), "!not_admitted");
  assert.equal(pool.finish("x"), "!not_known");
  assert.equal(pool.cancel("x"), "!not_known");
  assert.deepEqual(pool.state(), before);
});

test("R2: tryAsk waits for nothing", () => {
  const pool = driver(1);
  assert.equal(pool.tryAsk("r"), "r:pool");
  const before = pool.state();
  assert.equal(pool.tryAsk("x", undefined, ["a", "b"]), "");
  assert.deepEqual(pool.state(), before);
  assert.equal(pool.tryAsk("a", "r"), "a:loan");
});

test("R3: a lender is parked, and its slot comes back up the chain", () => {
  const pool = driver(1);
  pool.ask("r");
  pool.ask("a", "r");
  pool.ask("x", "a");
  pool.ask("s");
  assert.equal(pool.finish("r"), "");
  assert.equal(pool.finish("a"), "");
  assert.equal(pool.state().runs.get("a")?.phase, "parked");
  assert.equal(pool.finish("a"), "!not_known");
  assert.equal(pool.cancel("a"), "!not_known");
  assert.equal(pool.ask("y", "a"), "!parent_not_in_flight");
  assert.equal(pool.finish("x"), "s:pool");
  assert.equal(pool.state().runs.size, 1);
});

test("R3: the children of a run that ended keep level and place", () => {
  const pool = driver(2);
  pool.ask("r");
  for (const run of ["a", "b", "c"]) pool.ask(run, "r");
  pool.finish("r");
  const { runs } = pool.state();
  assert.equal(runs.get("a")?.parent, "r"); // the borrower of its slot
  assert.equal(runs.get("b")?.parent, null);
  assert.equal(runs.get("b")?.level, 2);
  assert.equal(runs.get("c")?.parent, null);
  assert.equal(pool.finish("a"), "c:pool");
});

test("R4: a loan goes to the longest-waiting child", () => {
  const pool = driver(1);
  pool.ask("r");
  pool.ask("a", "r");
  pool.ask("s");
  pool.ask("b", "r");
  pool.ask("c", "r");
  assert.equal(pool.finish("a"), "b:loan");
  assert.equal(pool.cancel("b"), "c:loan");
  assert.equal(pool.cancel("c"), "");
  assert.equal(pool.finish("r"), "s:pool");
});

test("R5: a cancelled waiter leaves both queues", () => {
  const pool = driver(1);
  pool.ask("r");
  for (const run of ["a", "b", "c"]) pool.ask(run, "r");
  assert.equal(pool.cancel("b"), "");
  assert.equal(pool.finish("a"), "c:loan");
  assert.equal(pool.ask("b", "r"), ""); // forgotten, so it may be asked again
});

for (const [order, expected] of [
  ["served", "b0:pool b1:pool s1:pool b2:pool s2:pool"],
  ["oldest", "b0:pool b1:pool b2:pool s1:pool s2:pool"],
  ["fifo", "b0:pool b1:pool b2:pool s1:pool s2:pool"],
] as const) {
  test(`R6: ${order}`, () => {
    const pool = driver(1, { order });
    const served = ["b0", "b1", "b2", "s1", "s2"].map((run) => pool.ask(run, undefined, [run.slice(0, 1)])).slice(0, 1);
    for (;;) {
      const next = pool.finish((served.at(-1) ?? "").replace(":pool", ""));
      if (next === "") break;
      served.push(next);
    }
    assert.equal(served.join(" "), expected);
  });
}

test("R6: the job that holds fewest goes first at every node", () => {
  const pool = driver(2, { order: "oldest" });
  pool.ask("a", undefined, ["x", "1"]);
  pool.ask("b", undefined, ["x", "2"]);
  pool.ask("c", undefined, ["x", "1"]);
  pool.ask("d", undefined, ["y", "1"]);
  pool.ask("e", undefined, ["x", "3"]);
  assert.equal(pool.finish("a"), "d:pool"); // x holds 1, y holds 0
  assert.equal(pool.finish("b"), "c:pool"); // below x nobody holds: the oldest
});

test("R6: served shows its lines", () => {
  const pool = driver(1);
  pool.ask("a", undefined, ["x", "1"]);
  pool.ask("b", undefined, ["x", "2"]);
  pool.ask("c", undefined, ["y", "1"]);
  pool.ask("d", undefined, ["x", "1"]);
  assert.deepEqual(pool.state().lines, [
    { node: [], line: ["x", "y"] },
    { node: ["x"], line: ["2", "1"] },
    { node: ["y"], line: ["1"] },
  ]);
});

test("R8: raising serves, and lowering revokes nothing", () => {
  const pool = driver(1);
  for (const run of ["a", "b", "c", "d"]) pool.ask(run);
  assert.equal(pool.resize(3), "b:pool c:pool");
  assert.equal(pool.resize(1), "");
  assert.equal(pool.finish("a"), "");
  assert.equal(pool.finish("b"), "");
  assert.equal(pool.finish("c"), "d:pool");
});

test("R13: a waiting parent lends to the child admitted first", () => {
  const pool = driver(2, { relend: true });
  pool.ask("r");
  pool.ask("a", "r");
  pool.ask("b", "r");
  pool.ask("s");
  assert.equal(pool.finish("a"), "s:pool ~b");
  assert.equal(pool.state().runs.get("b")?.token, "loan");
});

test("a pool without runs remembers nothing", () => {
  const pool = driver(1);
  const empty = pool.state();
  for (const run of ["one", "two", "__proto__"]) {
    pool.ask(run, undefined, ["deep", "er", run]);
    pool.finish(run);
  }
  assert.deepEqual(pool.state(), empty);
});

test("R6: thirty jobs of different sizes share eight slots as a slow list of them would", () => {
  const pool = driver(8);
  const jobs = Array.from({ length: 30 }, (_, i) => `job ${i}`);
  const held = new Map(jobs.map((job) => [job, 0]));
  const at = new Map<string, string>();
  const running: string[] = [];
  const started = (answer: string): void => {
    for (const grant of answer ? answer.split(" ") : []) {
      const run = grant.replace(":pool", "");
      const waiting = new Set([...at].filter(([other]) => !running.includes(other)).map(([, job]) => job));
      const least = Math.min(...[...waiting].map((job) => held.get(job) ?? 0));
      assert.equal(held.get(at.get(run) ?? ""), least, `${run} was served before a job that held fewer`);
      held.set(at.get(run) ?? "", least + 1);
      running.push(run);
    }
  };
  jobs.forEach((job, i) => {
    for (let n = 0; n <= (i * 7) % 11; n++) {
      at.set(`${i}.${n}`, job);
      started(pool.ask(`${i}.${n}`, undefined, [job]));
    }
  });
  for (let step = 0; running.length > 0; step++) {
    const [run] = running.splice((step * 5) % running.length, 1);
    assert(run !== undefined);
    const job = at.get(run) ?? "";
    held.set(job, (held.get(job) ?? 0) - 1);
    at.delete(run);
    started(pool.finish(run));
  }
  assert.equal(at.size, 0);
});
