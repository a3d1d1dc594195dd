/**
 * Slot lending: a tree of tasks shares one pool of slots without deadlock and without losing its bound.
 *
 * A plain semaphore makes a tree of tasks hang: parents hold every slot while they wait for children that need one.
 * Giving the slot back before waiting loses the bound. Lending keeps both: **a parent keeps its slot and lends it to one
 * child at a time.** Start at {@link Pool}.
 */
export { Pool, type AskOptions } from "./pool.js";
export { Refused, type Code } from "./refused.js";
export type { Answer, Grant, Job, Line, Order, Phase, Rules, RunState, Snapshot, Token } from "./snapshot.js";
