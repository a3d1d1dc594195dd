/**
 * Pools with a mistake as a port might make it, to try out the checker with. Never for use.
 *
 * Each gets one step of {@link Pool} wrong and is otherwise like it.
 */
import { Pool, type AskOptions } from "./pool.js";
import type { Run } from "./run.js";
import type { Answer } from "./snapshot.js";

/** R3: the waiting children of a run that ended leave the pool's queue too, and are never served. */
class OrphansForgotten extends Pool {
  protected override orphan(child: Run): void {
    super.orphan(child);
    if (child.phase === "waiting") this.withdraw(child);
  }
}

/** R3: the children of a run that ended start again at level 1. */
class OrphansRise extends Pool {
  protected override orphan(child: Run): void {
    super.orphan(child);
    child.level = 1;
  }
}

/** R3: a waiting run that finishes is cancelled instead of refused. */
class WaitersFinish extends Pool {
  override finish(id: string): Answer {
    return this.snapshot().runs.get(id)?.phase === "waiting" ? this.cancel(id) : super.finish(id);
  }
}

/** R2: a try that cannot be admitted waits. */
class TriesWait extends Pool {
  protected override cannotAdmit(id: string, options: AskOptions): Answer {
    return this.ask(id, options);
  }
}

/** R8: raising the cap serves one waiter, however many slots came free. */
class ResizeWakesOne extends Pool {
  protected override serve(): void {
    this.serveOne();
  }
}

/** R13: relends though the option is off. */
class RelendsUnasked extends Pool {
  protected override relends(): boolean {
    return true;
  }
}

/** The faulty pools by name. */
export const FAULTS: Readonly<Record<string, typeof Pool>> = {
  orphans_forgotten: OrphansForgotten,
  orphans_rise: OrphansRise,
  waiters_finish: WaitersFinish,
  tries_wait: TriesWait,
  resize_wakes_one: ResizeWakesOne,
  relends_unasked: RelendsUnasked,
};
