/** The refusals of the rules, in the words of the port protocol. */
export type Code =
  /** R1, R8: a cap is an integer of at least 1. */
  | "bad_cap"
  /** R2: the pool still knows a run of this id. */
  | "run_known"
  /** R2: only a run in flight can be a parent. */
  | "parent_not_in_flight"
  /** R2: runs belong to leaf jobs, so no job with a known run lies above or below another. */
  | "job_not_leaf"
  /** R3: a run that waits cannot finish; it can be cancelled. */
  | "not_admitted"
  /** R3, R5: never asked, finished, cancelled or parked. */
  | "not_known";

/** A call that the rules refuse. It has changed nothing. */
export class Refused extends Error {
  override readonly name = "Refused";

  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(`${code}: ${message}`);
  }
}
