/**
 * The jobs that have known runs, as a tree, and R6: which waiter gets a freed pool slot.
 *
 * Every node, the root and the leaf jobs included, has the queue of the runs that wait at or below it, by arrival; the
 * root's is the pool's queue. Every node but the root stands in its parent's line as long as its queue is not empty,
 * under the key (held, place). A call costs O(log n) for each node between leaf and root.
 */
import { Heap, type Indexed } from "./heap.js";
import { Queue } from "./queue.js";
import { Refused } from "./refused.js";
import type { Run } from "./run.js";
import type { Job, Line, Order } from "./snapshot.js";

export class JobNode implements Indexed {
  readonly below = new Map<string, JobNode>();
  /** Known runs of this very job. */
  runs = 0;
  /** Pool slots charged to runs at or below, parked ones included. */
  held = 0;
  readonly queue = new Queue<Run>();
  readonly line = new Heap<JobNode>(
    (one, other) => one.held < other.held || (one.held === other.held && one.place < other.place),
  );
  /** Drawn on joining the line and on going to its end; under "oldest" the arrival of the first in the queue. */
  place = 0;
  /** Where it is in its parent's line, or -1. */
  index = -1;

  constructor(
    readonly name: string,
    readonly up?: JobNode,
  ) {}

  get path(): Job {
    return this.up ? [...this.up.path, this.name] : [];
  }
}

export class Jobs {
  readonly #order: Order;
  readonly #root = new JobNode("");
  #places = 0;

  constructor(order: Order) {
    this.#order = order;
  }

  /** Refuses a job that is empty, or above or below a job that has a known run (R2). */
  judge(path: Job): void {
    if (path.length === 0) throw new Refused("job_not_leaf", "a job is a path of at least one name");
    let node = this.#root;
    for (const name of path) {
      if (node.runs > 0) throw new Refused("job_not_leaf", `job ${path.join("/")} is below a job that has a run`);
      const below = node.below.get(name);
      if (!below) return;
      node = below;
    }
    if (node.below.size > 0) throw new Refused("job_not_leaf", `job ${path.join("/")} is above a job that has a run`);
  }

  /** One more known run of this job, which was judged. */
  enter(path: Job): JobNode {
    let node = this.#root;
    for (const name of path) {
      let below = node.below.get(name);
      if (!below) node.below.set(name, (below = new JobNode(name, node)));
      node = below;
    }
    node.runs++;
    return node;
  }

  /** One known run of this job fewer. A node without known runs is forgotten. */
  leave(job: JobNode): void {
    job.runs--;
    for (let node = job; node.up && node.runs === 0 && node.below.size === 0; node = node.up) {
      node.up.below.delete(node.name);
    }
  }

  /** The run starts to wait. */
  join(run: Run): void {
    run.spots = [];
    for (let node: JobNode | undefined = run.job; node; node = node.up) {
      if (node.queue.isEmpty) node.place = this.#order === "oldest" ? run.arrival : ++this.#places;
      run.spots.push(node.queue.push(run));
      this.#settle(node);
    }
  }

  /** The run waits no longer; `served`, because it was granted a pool slot. */
  quit(run: Run, served: boolean): void {
    let node: JobNode | undefined = run.job;
    for (const spot of run.spots) {
      if (!node) break;
      node.queue.remove(spot);
      if (this.#order === "oldest") node.place = node.queue.first?.arrival ?? 0;
      else if (served) node.place = ++this.#places;
      this.#settle(node);
      node = node.up;
    }
  }

  /** The waiter whom the next pool slot goes to (R6). */
  pick(): Run | undefined {
    let node = this.#root;
    while (node.line.least) node = node.line.least;
    return node.queue.first;
  }

  /** The job has taken so many pool slots more. */
  charge(job: JobNode, slots: number): void {
    for (let node: JobNode | undefined = job; node; node = node.up) {
      node.held += slots;
      this.#settle(node);
    }
  }

  /** The waiting runs in order of arrival. */
  get waiting(): Iterable<Run> {
    return this.#root.queue;
  }

  /** The lines of the order "served". */
  lines(): Line[] {
    return this.#order === "served" ? linesFrom(this.#root) : [];
  }

  /** Puts a node where it belongs in its parent's line after its key or its queue changed. */
  #settle(node: JobNode): void {
    if (!node.up || this.#order === "fifo") return;
    if (node.queue.isEmpty) node.up.line.remove(node);
    else node.up.line.settle(node);
  }
}

function linesFrom(node: JobNode): Line[] {
  const inLine = [...node.line.items].sort((one, other) => one.place - other.place);
  if (inLine.length === 0) return [];
  return [{ node: node.path, line: inLine.map(({ name }) => name) }, ...inLine.flatMap(linesFrom)];
}
