/**
 * Which values their own constructors made. Invariant: the rules accept only such values, and these cannot be changed
 * afterwards, so a value that was checked once stays true without being checked again.
 *
 * A copy (spread, `structuredClone`, a trip through a payload) is not sealed: it must be parsed again.
 */
export class Seal<Value extends object> {
  readonly #made = new WeakSet<object>();

  seal(value: Value): Value {
    Object.freeze(value);
    this.#made.add(value);
    return value;
  }

  holds(value: unknown): value is Value {
    return typeof value === 'object' && value !== null && this.#made.has(value);
  }
}
