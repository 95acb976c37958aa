/**
 * What a test server saw and did, by idempotency key: counts, a log, and waiting for a moment.
 *
 * Invariant: a write is counted in the same turn in which it becomes visible to look-ups, and nothing of its content is kept.
 */

export const ARRIVAL_EVENTS = [
  /** A write has arrived whole. */
  'received',
  /** A write is about to be held, before or after its commit. */
  'held',
  /** The sink's state now holds a new write. */
  'committed',
  /** A write was answered from what is already there. */
  'replayed',
  /** A write was turned away without a change. */
  'refused',
  /** The answer to a write was handed to the connection. */
  'answered',
  /** A look-up asked for this key. */
  'looked_up',
] as const;
/** What became of a request. */
export type ArrivalEvent = (typeof ARRIVAL_EVENTS)[number];

/** One request as a counting server saw it come. */
export interface Arrival {
  readonly seq: number;
  readonly event: ArrivalEvent;
  readonly collection: string;
  readonly key: string;
  /** What the client said its process id is. */
  readonly pid: number | null;
  /** Milliseconds since the server started. */
  readonly atMs: number;
}

/** What a server has counted under one key. */
export interface KeyCounts {
  readonly collection: string;
  readonly key: string;
  /** Writes that the sink's state holds. More than one is a duplicate. */
  writes: number;
  received: number;
  replayed: number;
  refused: number;
  lookups: number;
}

/** What a server has counted in all. */
export interface Counts {
  readonly writes: number;
  readonly received: number;
  readonly keys: readonly KeyCounts[];
}

const MAX_LOG = 100_000;
const COUNTED: Record<ArrivalEvent, keyof Omit<KeyCounts, 'collection' | 'key'> | null> = {
  received: 'received',
  held: null,
  committed: 'writes',
  replayed: 'replayed',
  refused: 'refused',
  answered: null,
  looked_up: 'lookups',
};

interface Waiter {
  readonly event: ArrivalEvent;
  readonly key: string;
  readonly count: number;
  readonly found: (arrival: Arrival) => void;
}

export class Arrivals {
  readonly #started = performance.now();
  readonly #keys = new Map<string, KeyCounts>();
  readonly #seen = new Map<string, Arrival[]>();
  #log: Arrival[] = [];
  #waiters: Waiter[] = [];
  #seq = 0;

  note(event: ArrivalEvent, collection: string, key: string, pid: number | null): void {
    const arrival: Arrival = {
      seq: ++this.#seq,
      event,
      collection,
      key,
      pid,
      atMs: Math.round(performance.now() - this.#started),
    };
    this.#log.push(arrival);
    if (this.#log.length > MAX_LOG) this.#log = this.#log.slice(MAX_LOG / 2);
    const id = JSON.stringify([collection, key]);
    let counts = this.#keys.get(id);
    if (!counts) {
      counts = { collection, key, writes: 0, received: 0, replayed: 0, refused: 0, lookups: 0 };
      this.#keys.set(id, counts);
    }
    const counted = COUNTED[event];
    if (counted) counts[counted] += 1;
    for (const name of [`${event} ${key}`, `${event} *`]) {
      const seen = this.#seen.get(name);
      if (seen) seen.push(arrival);
      else this.#seen.set(name, [arrival]);
    }
    if (this.#waiters.length > 0) this.#wake();
  }

  counts(key?: string): Counts {
    const keys = [...this.#keys.values()].filter((counts) => key === undefined || counts.key === key);
    const sum = (field: 'writes' | 'received'): number => keys.reduce((total, counts) => total + counts[field], 0);
    return { writes: sum('writes'), received: sum('received'), keys };
  }

  /** The log after `seq`, oldest first; only its last part is kept. */
  log(after = 0): readonly Arrival[] {
    return this.#log.filter((arrival) => arrival.seq > after);
  }

  /** Resolves with the `count`-th such event of this key (`*`: any), past or to come; `null` when `timeoutMs` ran out. */
  wait(event: ArrivalEvent, key: string, count: number, timeoutMs: number): Promise<Arrival | null> {
    return new Promise((resolve) => {
      const settle = (arrival: Arrival | null): void => {
        clearTimeout(timer);
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        resolve(arrival);
      };
      const timer = setTimeout(settle, timeoutMs, null);
      const waiter: Waiter = { event, key, count, found: settle };
      this.#waiters.push(waiter);
      this.#wake();
    });
  }

  #wake(): void {
    for (const { event, key, count, found } of [...this.#waiters]) {
      const arrival = this.#seen.get(`${event} ${key}`)?.[count - 1];
      if (arrival) found(arrival);
    }
  }

  reset(): void {
    this.#keys.clear();
    this.#seen.clear();
    this.#log = [];
  }
}
