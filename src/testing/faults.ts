/**
 * Programmed faults of the test servers: what goes wrong, for which key, how often, and who waits until released.
 *
 * Invariant: a request takes at most one fault, the first programmed one that fits it, so that a list of faults reads as
 * the sequence in which they happen.
 */

/** What a fault strikes: the write of one key, or a look-up that asks for it. */
export type FaultTarget = 'write' | 'lookup';

/** What each fault does, which requests it strikes unless told otherwise, and what it must be told. */
const FAULTS = {
  /** Closes the connection; nothing is committed. */
  drop_request: { on: 'write', needs: [] },
  /** As `drop_request`, by a TCP reset. */
  reset: { on: 'write', needs: [] },
  /** Commits, then closes the connection without an answer. */
  drop_reply: { on: 'write', needs: [] },
  /** Never answers; commits after `delay_ms`, whether or not the client is still there, then closes the connection. */
  late_commit: { on: 'write', needs: ['delayMs'] },
  /** Waits `delay_ms`, then commits and answers. */
  delay_before: { on: 'write', needs: ['delayMs'] },
  /** Commits, waits `delay_ms`, answers. */
  delay_after: { on: 'write', needs: ['delayMs'] },
  /** Blocks before the commit until released. */
  hold_before: { on: 'write', needs: [] },
  /** Commits, then blocks before the answer until released. */
  hold_after: { on: 'write', needs: [] },
  /** Answers `status` (with `Retry-After` when `retry_after_ms` is given); nothing is committed. */
  status: { on: 'write', needs: ['status'] },
  /** Commits, then answers `status` all the same. */
  status_after_commit: { on: 'write', needs: ['status'] },
  /** Look-ups do not see what was committed less than `delay_ms` ago. */
  stale_lookup: { on: 'lookup', needs: ['delayMs'] },
  /** Look-ups show another operation digest than the one stored. */
  wrong_digest: { on: 'lookup', needs: [] },
  /** Look-ups say that the operation is still running. */
  in_flight: { on: 'lookup', needs: [] },
  /** Look-ups ignore what they were asked to filter by (FHIR only). */
  drop_filter: { on: 'lookup', needs: [] },
} as const satisfies Record<string, { on: FaultTarget; needs: readonly ('delayMs' | 'status')[] }>;

/** One of `FAULT_KINDS`. */
export type FaultKind = keyof typeof FAULTS;
/** What the test servers can do wrong on demand. */
export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

/** One programmed fault. */
export interface Fault {
  readonly fault: FaultKind;
  /** The idempotency key that it strikes. @default '*', any key */
  readonly key?: string;
  /** @default what the fault is for */
  readonly on?: FaultTarget;
  /** How many requests it strikes; 0 is without end. @default 1 */
  readonly times?: number;
  readonly delayMs?: number;
  readonly status?: number;
  readonly retryAfterMs?: number;
}

export class FaultError extends Error {
  override readonly name = 'FaultError';
  constructor(
    readonly field: string,
    readonly code: 'unknown_fault' | 'missing' | 'invalid',
  ) {
    super(`${field}: ${code}`);
  }
}

const whole = (value: unknown, field: string): number | undefined => {
  if (value === undefined) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new FaultError(field, 'invalid');
  return value as number;
};

/** Reads one fault as the admin API takes it (snake_case). */
export function parseFault(wire: unknown): Fault {
  const fields = (typeof wire === 'object' && wire !== null ? wire : {}) as Record<string, unknown>;
  const fault = fields['fault'] as FaultKind;
  if (!FAULT_KINDS.includes(fault)) throw new FaultError('fault', 'unknown_fault');
  const { key, on } = fields;
  if (key !== undefined && typeof key !== 'string') throw new FaultError('key', 'invalid');
  if (on !== undefined && on !== 'write' && on !== 'lookup') throw new FaultError('on', 'invalid');
  const times = whole(fields['times'], 'times');
  const delayMs = whole(fields['delay_ms'], 'delay_ms');
  const status = whole(fields['status'], 'status');
  const retryAfterMs = whole(fields['retry_after_ms'], 'retry_after_ms');
  const parsed: Fault = {
    fault,
    ...(key === undefined ? {} : { key }),
    ...(on === undefined ? {} : { on }),
    ...(times === undefined ? {} : { times }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  for (const need of FAULTS[fault].needs) {
    if (parsed[need] === undefined) throw new FaultError(need === 'delayMs' ? 'delay_ms' : need, 'missing');
  }
  return parsed;
}

/** The inverse of `parseFault`. */
export function faultToWire(fault: Fault): Record<string, unknown> {
  const { delayMs, retryAfterMs, ...same } = fault;
  return {
    ...same,
    ...(delayMs === undefined ? {} : { delay_ms: delayMs }),
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
  };
}

/** How a held request goes on: as if nothing had been, or with its connection closed at the point where it stood. */
export type Release = 'continue' | 'drop';

interface Held {
  readonly key: string;
  readonly go: (how: Release) => void;
}

/** The faults of one server, and the requests that they hold. */
export class FaultEngine {
  #programmed: { fault: Fault; left: number }[] = [];
  #held: Held[] = [];

  programme(faults: readonly Fault[]): void {
    for (const fault of faults)
      this.#programmed.push({ fault, left: fault.times === 0 ? Infinity : (fault.times ?? 1) });
  }

  /** The fault that this request meets, used up once. */
  take(target: FaultTarget, key: string): Fault | undefined {
    if (this.#programmed.length === 0) return undefined;
    const index = this.#programmed.findIndex(
      ({ fault }) =>
        (fault.on ?? FAULTS[fault.fault].on) === target && ((fault.key ?? '*') === '*' || fault.key === key),
    );
    const entry = this.#programmed[index];
    if (!entry) return undefined;
    entry.left -= 1;
    if (entry.left <= 0) this.#programmed.splice(index, 1);
    return entry.fault;
  }

  /** Blocks until `release`. */
  hold(key: string): Promise<Release> {
    return new Promise((resolve) => {
      const held: Held = {
        key,
        go: (how) => {
          this.#held = this.#held.filter((other) => other !== held);
          resolve(how);
        },
      };
      this.#held.push(held);
    });
  }

  /** Lets the held requests of a key (`*`: all) go on; returns how many there were. */
  release(key: string, how: Release = 'continue'): number {
    const held = this.#held.filter((one) => key === '*' || one.key === key);
    for (const one of held) one.go(how);
    return held.length;
  }

  /** Keys of the requests that are held now. */
  get held(): readonly string[] {
    return this.#held.map(({ key }) => key);
  }

  /** Forgets what is programmed; held requests stay held. */
  clear(): void {
    this.#programmed = [];
  }
}
