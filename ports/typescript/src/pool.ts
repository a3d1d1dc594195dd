import { Jobs } from "./jobs.js";
import { Refused } from "./refused.js";
import { Run } from "./run.js";
import type { Answer, Grant, Job, Rules, RunState, Snapshot, Token } from "./snapshot.js";

/** What more is said of a run that asks. */
export interface AskOptions {
  /** The run in flight whose slot it may borrow. */
  readonly parent?: string | undefined;
  /** The path of its job; by default its parent's, and without a parent a job of its own id. */
  readonly job?: Job | undefined;
}

/**
 * The shared slots of a tree of runs.
 *
 * ```ts
 * const pool = new Pool(1);
 * pool.ask("walk");                      // granted: walk, a pool slot
 * pool.ask("file", { parent: "walk" });  // granted: file, on loan
 * pool.ask("other");                     // nothing granted: it waits
 * pool.finish("file");
 * pool.finish("walk");                   // granted: other, a pool slot
 * ```
 *
 * A state machine without clock, promise or timer: a call is one step, and its {@link Answer} says who got a slot, so
 * that the caller can wake those.
 *
 * Every run in flight or parked has a slot: one of the pool, or its parent's on loan. So each pool slot heads a chain:
 * the run that took it, its borrower, that run's borrower, and so on down the tree. Exactly one run of a chain, the
 * last, holds the slot unlent. Hence runs that hold a slot unlent = slots taken <= cap, and, a chain having at most one
 * run a level, runs in flight <= cap x levels.
 *
 * A call costs O(1), O(log n) more for each level of the job where it waits or is charged, and as much for each grant;
 * nothing walks the waiting runs. The protected steps are open to the faulty pools of `faults.ts`, not to users.
 */
export class Pool {
  #cap: number;
  /** Pool slots that are out = runs with a pool token. */
  #taken = 0;
  readonly #relend: boolean;
  readonly #runs = new Map<string, Run>();
  readonly #jobs: Jobs;
  /** The last arrival. */
  #clock = 0;
  /** What the call at hand has granted and relent so far. */
  #granted: Grant[] = [];
  #relent: string[] = [];

  /**
   * A pool of `cap` slots (R1). The rules are fixed from here on.
   *
   * @throws {Refused} bad_cap: the cap is no integer of at least 1
   */
  constructor(cap: number, rules: Rules = {}) {
    judgeCap(cap);
    this.#cap = cap;
    this.#relend = rules.relend ?? false;
    this.#jobs = new Jobs(rules.order ?? "served");
  }

  /**
   * Asks for a slot (R2). The answer grants it to the run at once, or the run waits for a later grant.
   *
   * @throws {Refused} run_known, parent_not_in_flight or job_not_leaf: the first that applies
   */
  ask(id: string, options: AskOptions = {}): Answer {
    return this.#admit(id, options, true);
  }

  /** As {@link ask}; but where the run would have to wait, nothing is granted and nothing changes. */
  tryAsk(id: string, options: AskOptions = {}): Answer {
    return this.#admit(id, options, false);
  }

  /**
   * The run has ended (R3). Its slot goes on at once, or stays with its borrower until the loan comes back.
   *
   * @throws {Refused} not_admitted while it waits, not_known if it is not in flight otherwise
   */
  finish(id: string): Answer {
    const run = this.#find(id);
    if (run.phase === "waiting") throw new Refused("not_admitted", `run ${id} waits for a slot, so it cannot finish`);
    this.#end(run);
    return this.#answer();
  }

  /**
   * The run will not go on (R5): a waiting run leaves both queues, one in flight gives its slot on as if it had
   * finished. None of its children is cancelled: a structured front end cancels those first.
   *
   * @throws {Refused} not_known if it is neither waiting nor in flight
   */
  cancel(id: string): Answer {
    const run = this.#find(id);
    if (run.phase === "waiting") this.withdraw(run);
    else this.#end(run);
    return this.#answer();
  }

  /**
   * Changes the cap (R8). Raising it serves waiters in the same step; lowering it takes nothing away.
   *
   * @throws {Refused} bad_cap: the cap is no integer of at least 1
   */
  resize(cap: number): Answer {
    judgeCap(cap);
    this.#cap = cap;
    this.serve();
    return this.#answer();
  }

  /** The whole state. It costs as much as there are known runs. */
  snapshot(): Snapshot {
    const runs = new Map<string, RunState>();
    const children = new Map<string, string[]>();
    for (const run of this.#runs.values()) {
      const { phase, token, level } = run;
      const lent = run.borrower !== undefined;
      runs.set(run.id, { phase, token, lent, level, parent: run.parent?.id ?? null, job: run.job.path });
      if (!run.children.isEmpty) children.set(run.id, ids(run.children));
    }
    const waiting = ids(this.#jobs.waiting);
    return { cap: this.#cap, taken: this.#taken, runs, waiting, children, lines: this.#jobs.lines() };
  }

  // -- asking

  #admit(id: string, { parent, job }: AskOptions, mayWait: boolean): Answer {
    const lender = this.#judge(id, parent);
    const path = job ?? lender?.job.path ?? [id];
    this.#jobs.judge(path);
    const token = this.#tokenAtOnce(lender);
    if (token === "none" && !mayWait) return this.cannotAdmit(id, { parent, job });
    const run = new Run(id, lender, this.#jobs.enter(path));
    this.#runs.set(id, run);
    if (token === "none") this.#wait(run);
    else this.#handOver(run, token);
    return this.#answer();
  }

  /** The answer of a try that had to wait. */
  protected cannotAdmit(_id: string, _options: AskOptions): Answer {
    return this.#answer();
  }

  /** R2's refusals in its order, the job aside; the parent, if one was named. */
  #judge(id: string, parent: string | undefined): Run | undefined {
    const known = this.#runs.get(id);
    if (known) throw new Refused("run_known", `run ${id} is known: ${known.phase}`);
    if (parent === undefined) return undefined;
    const lender = this.#runs.get(parent);
    if (lender?.phase !== "in_flight") throw new Refused("parent_not_in_flight", `parent ${parent} is not in flight`);
    return lender;
  }

  /** R2.1 and R2.2: what a new run of this parent takes a slot as at once, or "none". */
  #tokenAtOnce(parent: Run | undefined): Token {
    if (parent && !parent.borrower) return "loan";
    return this.#taken < this.#cap ? "pool" : "none";
  }

  /** R2.3: the run waits in two queues at once, its parent's and the pool's. */
  #wait(run: Run): void {
    run.arrival = ++this.#clock;
    run.spot = run.parent?.queue.push(run);
    this.#jobs.join(run);
  }

  // -- slots that go out

  /** The run, in no queue (any more), has its slot from now on. */
  #handOver(run: Run, token: Token): void {
    run.phase = "in_flight";
    run.token = token;
    this.#granted.push({ run: run.id, token });
    if (token === "pool") {
      this.#taken++;
      this.#jobs.charge(run.job, 1);
    } else if (run.parent) {
      run.parent.borrower = run;
    }
    run.spot = run.parent?.children.push(run);
  }

  /** A waiting run gets a slot: it leaves both queues in this step (R4). */
  #grant(run: Run, token: Token): void {
    this.#unqueue(run, token === "pool");
    this.#handOver(run, token);
  }

  /** Hands out the free pool slots one by one, the order asked anew for each (R6, R7, R8). */
  protected serve(): void {
    while (this.serveOne());
  }

  /** Hands out a free pool slot. Whether there was one, and somebody waited. */
  protected serveOne(): boolean {
    const waiter = this.#jobs.pick();
    if (!waiter || this.#taken >= this.#cap) return false;
    this.#grant(waiter, "pool");
    return true;
  }

  /** A waiting run leaves both queues. */
  #unqueue(run: Run, served: boolean): void {
    this.#jobs.quit(run, served);
    if (run.parent && run.spot) run.parent.queue.remove(run.spot);
  }

  /** R5: a waiting run leaves both queues and is forgotten. */
  protected withdraw(run: Run): void {
    this.#unqueue(run, false);
    this.#runs.delete(run.id);
    this.#jobs.leave(run.job);
  }

  // -- slots that come back

  /** R3: a run in flight has ended. Its children lose their parent, its borrower aside. */
  #end(run: Run): void {
    const waiting = [...run.queue];
    const others = [...run.children].filter((child) => child !== run.borrower);
    run.queue.clear();
    run.children.clear();
    for (const child of [...waiting, ...others]) this.orphan(child);
    if (run.borrower) {
      run.borrower.spot = run.children.push(run.borrower);
      run.phase = "parked";
    } else {
      this.#giveBack(run);
    }
  }

  /** The parent of this run has ended. It keeps its level, and its place in the pool's queue if it waits. */
  protected orphan(child: Run): void {
    child.parent = child.spot = undefined;
  }

  /** R4: the slot of a run that has ended, and holds it unlent, goes back to where it came from. */
  #giveBack(ended: Run): void {
    let run = ended;
    while (run.token === "loan" && run.parent) {
      const lender = run.parent;
      this.#forget(run);
      lender.borrower = undefined;
      if (lender.phase === "in_flight") {
        this.#loanReturned(lender);
        return;
      }
      run = lender; // parked: it gives its own slot back in turn
    }
    this.#returnSlot(run);
    this.#forget(run);
    this.serve();
  }

  /** An open lender has its slot back: its longest-waiting child gets it, or (R13) it relends, or it holds it. */
  #loanReturned(lender: Run): void {
    const waiting = lender.queue.first;
    const child = lender.children.first; // on a pool slot, as all are: the one on loan has just ended
    if (waiting) {
      this.#grant(waiting, "loan");
    } else if (child && this.relends(this.#relend)) {
      this.#returnSlot(child);
      child.token = "loan";
      lender.borrower = child;
      this.#relent.push(child.id);
      this.serve();
    }
  }

  /** Whether a slot that came back is used again at once (R13). */
  protected relends(option: boolean): boolean {
    return option;
  }

  /** The run's pool slot comes back, uncharged before anybody is served (R4). */
  #returnSlot(run: Run): void {
    this.#taken--;
    this.#jobs.charge(run.job, -1);
  }

  #forget(run: Run): void {
    this.#runs.delete(run.id);
    this.#jobs.leave(run.job);
    if (run.parent && run.spot) run.parent.children.remove(run.spot);
  }

  // -- small parts

  /** A run that is waiting or in flight. */
  #find(id: string): Run {
    const run = this.#runs.get(id);
    if (!run || run.phase === "parked") throw new Refused("not_known", `run ${id} is neither waiting nor in flight`);
    return run;
  }

  /** What this call did, all told. */
  #answer(): Answer {
    const answer = { granted: this.#granted, relent: this.#relent };
    this.#granted = [];
    this.#relent = [];
    return answer;
  }
}

function judgeCap(cap: number): void {
  if (Number.isSafeInteger(cap) && cap >= 1) return;
  throw new Refused("bad_cap", `a cap is an integer of at least 1, not ${cap}`);
}

function ids(runs: Iterable<Run>): string[] {
  return Array.from(runs, ({ id }) => id);
}
