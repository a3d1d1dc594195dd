/** A place in a {@link Queue}: what an item is taken out by. */
export interface Spot<T> {
  readonly item: T;
  before: Spot<T> | undefined;
  after: Spot<T> | undefined;
}

/**
 * Items in the order in which they came, which leave from anywhere, each in constant time.
 *
 * A `Set` has the same order, but finding its first item steps over all that were deleted before it.
 */
export class Queue<T> {
  #first: Spot<T> | undefined;
  #last: Spot<T> | undefined;

  get first(): T | undefined {
    return this.#first?.item;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  push(item: T): Spot<T> {
    const spot: Spot<T> = { item, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = spot;
    else this.#first = spot;
    this.#last = spot;
    return spot;
  }

  /** Takes out the item at this spot, which is in this queue. */
  remove(spot: Spot<T>): void {
    if (spot.before) spot.before.after = spot.after;
    else this.#first = spot.after;
    if (spot.after) spot.after.before = spot.before;
    else this.#last = spot.before;
  }

  clear(): void {
    this.#first = this.#last = undefined;
  }

  *[Symbol.iterator](): Generator<T, void> {
    for (let spot = this.#first; spot; spot = spot.after) yield spot.item;
  }
}
