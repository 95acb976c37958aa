/**
 * Something that is asked for again and again while anybody looks at it. Invariant: however many look, it is asked once at a time; what
 * was answered last stays when nothing answers, with the moment from which it is.
 */
export interface Seen<T> {
  readonly value: T;
  /** Unix milliseconds of the answer. */
  readonly at: number;
  /** Why what came after it could not be had; null while nothing is wrong. */
  readonly fault: string | null;
}

const LONGEST_PAUSE_MS = 3_000;

export interface LiveOptions {
  /** Least time between two questions, in milliseconds. */
  readonly everyMs: number;
  /** A fault in words that name no content. */
  readonly told: (fault: unknown) => string;
}

export class Live<T> {
  private seen: Seen<T> | null = null;
  private asking: Promise<Seen<T>> | null = null;
  private askedAt = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  private readonly listeners = new Set<(seen: Seen<T> | null) => void>();

  constructor(
    /** Is given what was answered last. */
    private readonly load: (before: T | null) => Promise<T>,
    private readonly options: LiveOptions,
  ) {}

  /** As of now, or what is known when the answer takes longer than `patienceMs`. Throws when nothing was ever answered. */
  async look(patienceMs = Infinity): Promise<Seen<T>> {
    const { seen } = this;
    if (seen !== null && seen.fault === null && performance.now() - this.askedAt < this.options.everyMs) return seen;
    const asked = this.ask();
    if (seen === null || patienceMs === Infinity) return asked;
    return Promise.race([asked, elapsed(patienceMs).then(() => this.seen ?? seen)]);
  }

  /** Calls `listener` after each question, with null while nothing was ever answered, until the end that is answered is called. */
  watch(listener: (seen: Seen<T> | null) => void): () => void {
    this.listeners.add(listener);
    if (this.timer === null) this.next(0);
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0 || this.timer === null) return;
      clearTimeout(this.timer);
      this.timer = null;
    };
  }

  /** The next look asks anew. */
  forget(): void {
    this.askedAt = -Infinity;
  }

  get watched(): boolean {
    return this.listeners.size > 0;
  }

  private next(ms: number): void {
    this.timer = setTimeout(() => void this.round(), ms);
    this.timer.unref();
  }

  private async round(): Promise<void> {
    const from = performance.now();
    const seen = await this.ask().catch(() => null);
    for (const listener of this.listeners) listener(seen);
    // What takes long to answer is asked less often, yet soon enough to see who is back.
    const pauseMs = Math.min(LONGEST_PAUSE_MS, 3 * (performance.now() - from));
    if (this.watched) this.next(Math.max(this.options.everyMs, pauseMs));
    else this.timer = null;
  }

  private ask(): Promise<Seen<T>> {
    this.asking ??= this.answer().finally(() => (this.asking = null));
    return this.asking;
  }

  private async answer(): Promise<Seen<T>> {
    this.askedAt = performance.now();
    try {
      this.seen = { value: await this.load(this.seen?.value ?? null), at: Date.now(), fault: null };
    } catch (fault) {
      if (this.seen === null) throw fault;
      this.seen = { ...this.seen, fault: this.options.told(fault) };
    }
    return this.seen;
  }
}

const elapsed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());
