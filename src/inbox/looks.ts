/** What is known of each thing that somebody looks at. Invariant: one is asked about once at a time; those that nobody looks at make room. */
import { Live, type LiveOptions } from './live';

const MOST = 500;

export class Looks<T> {
  private readonly byId = new Map<string, Live<T | null>>();

  constructor(
    /** Null of what nobody knows. `before` is what was seen last. */
    private readonly load: (id: string, before: T | null) => Promise<T | null>,
    private readonly options: LiveOptions,
  ) {}

  of(id: string): Live<T | null> {
    const known = this.byId.get(id);
    if (known !== undefined) return known;
    for (const [other, live] of this.byId) if (this.byId.size >= MOST && !live.watched) this.byId.delete(other);
    const live = new Live<T | null>((before) => this.load(id, before), this.options);
    this.byId.set(id, live);
    return live;
  }
}
