/** An item that knows where it stands in its heap: -1 outside. */
export interface Indexed {
  index: number;
}

/** A binary heap whose items can change their key and leave from anywhere: O(log n) each. */
export class Heap<T extends Indexed> {
  readonly #items: T[] = [];
  readonly #before: (one: T, other: T) => boolean;

  /** @param before whether one item is less than another */
  constructor(before: (one: T, other: T) => boolean) {
    this.#before = before;
  }

  get least(): T | undefined {
    return this.#items[0];
  }

  get items(): readonly T[] {
    return this.#items;
  }

  /** Puts the item where it belongs, in the heap or not before. */
  settle(item: T): void {
    if (item.index < 0) item.index = this.#items.push(item) - 1;
    this.#sink(this.#rise(item));
  }

  /** Takes the item out, if it is in. */
  remove(item: T): void {
    if (item.index < 0) return;
    const last = this.#items.pop();
    if (last && last !== item) {
      this.#put(last, item.index);
      this.#sink(this.#rise(last));
    }
    item.index = -1;
  }

  #rise(item: T): T {
    for (;;) {
      const up = this.#items[(item.index - 1) >> 1];
      if (!up || !this.#before(item, up)) return item;
      this.#swap(item, up);
    }
  }

  #sink(item: T): void {
    for (;;) {
      let least = item;
      for (const index of [2 * item.index + 1, 2 * item.index + 2]) {
        const below = this.#items[index];
        if (below && this.#before(below, least)) least = below;
      }
      if (least === item) return;
      this.#swap(item, least);
    }
  }

  #swap(one: T, other: T): void {
    const index = one.index;
    this.#put(one, other.index);
    this.#put(other, index);
  }

  #put(item: T, index: number): void {
    this.#items[index] = item;
    item.index = index;
  }
}
