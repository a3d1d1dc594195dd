import type { JobNode } from "./jobs.js";
import { Queue, type Spot } from "./queue.js";
import type { Phase, Token } from "./snapshot.js";

/** One known run, as the pool keeps it. */
export class Run {
  phase: Phase = "waiting";
  token: Token = "none";
  level: number;
  /** The child that has this run's slot on loan. */
  borrower: Run | undefined;
  /** When it started to wait: a number that only grows. */
  arrival = 0;
  /** While it waits: its places in the queues of its job and of each node above. */
  spots: Spot<Run>[] = [];
  /** Its place among its parent's: in `queue` while it waits, in `children` afterwards. */
  spot: Spot<Run> | undefined;
  /** Its waiting children by arrival. */
  readonly queue = new Queue<Run>();
  /** Its children with a slot, parked ones too, by admission. */
  readonly children = new Queue<Run>();

  constructor(
    readonly id: string,
    public parent: Run | undefined,
    readonly job: JobNode,
  ) {
    this.level = parent ? parent.level + 1 : 1;
  }
}
