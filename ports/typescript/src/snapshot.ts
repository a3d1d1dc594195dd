/** What a pool is told, answers and shows, as plain values. */

/** Who gets a freed pool slot (R6). */
export type Order =
  /** The job that holds the fewest slots first; jobs that hold as many stand in a line. */
  | "served"
  /** The job that holds the fewest slots first; among those that hold as many, the one whose run has waited longest. */
  | "oldest"
  /** The run that has waited longest, whatever its job. */
  | "fifo";

/** What is fixed when a pool is made. */
export interface Rules {
  /** Who gets a freed pool slot; by default "served". */
  readonly order?: Order;
  /** Whether a slot that comes back to a waiting parent is used again at once (R13); by default not. */
  readonly relend?: boolean;
}

/** The path of a job from the root of the job tree. */
export type Job = readonly string[];

/** How far a known run has come; "parked": it finished while its slot was lent, and the slot stays with the loan. */
export type Phase = "waiting" | "in_flight" | "parked";

/** What a run has its slot as: "none" while it waits, a slot of the pool, or its parent's on loan. */
export type Token = "none" | "pool" | "loan";

/** A run that got a slot. Relending can change the token later (R13). */
export interface Grant {
  readonly run: string;
  readonly token: Token;
}

/** The difference that a call made to who has which slot. */
export interface Answer {
  /** The runs that got a slot, in the order of the hand-off. The caller wakes them. */
  readonly granted: readonly Grant[];
  /** The runs whose pool slot went back to the pool while they go on, on loan from their parent (R13). */
  readonly relent: readonly string[];
}

/** One known run. */
export interface RunState {
  readonly phase: Phase;
  readonly token: Token;
  /** Whether its slot is out on loan to a child. */
  readonly lent: boolean;
  /** 1 without a parent, the parent's + 1 otherwise; fixed when it asked. */
  readonly level: number;
  /** Whose slot it may borrow or borrows; null without one, or once that has finished. */
  readonly parent: string | null;
  readonly job: Job;
}

/** The line of one node of the job tree: the names of the children with a run waiting at or below them. */
export interface Line {
  readonly node: Job;
  readonly line: readonly string[];
}

/** The whole state of a pool. It holds orders and never counters or times. */
export interface Snapshot {
  readonly cap: number;
  /** Pool slots that are out. */
  readonly taken: number;
  readonly runs: ReadonlyMap<string, RunState>;
  /** The waiting runs in order of arrival. */
  readonly waiting: readonly string[];
  /** For each run with children that have a slot: these, in order of admission. */
  readonly children: ReadonlyMap<string, readonly string[]>;
  /** Under "served", for each node with a run waiting below it. */
  readonly lines: readonly Line[];
}
