/**
 * Writes that pass a line to a real sink, with the faults that are programmed for their keys: the same faults, moments and counts
 * as those of the test servers, whatever the protocol. Invariant: a write that has come whole reaches the sink although its sender
 * is dead by then, unless its fault says otherwise.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Arrivals, type ArrivalEvent } from '../../src/testing/arrivals';
import { FaultEngine, type Release } from '../../src/testing/faults';
import { type CellFault, type CellFaultKind, type CellMoment, type CellSink } from './cell-sink';

const WAIT_MS = 30_000;
const KEY = /idem_[0-9a-f]{64}/;

/** The idempotency key in a text, or null. */
export const keyIn = (text: string): string | null => KEY.exec(text)?.[0] ?? null;

/** Thrown: both connections are to be cut, whatever the sink has answered. */
export class Cut extends Error {
  override readonly name = 'Cut';
}

export interface SinkReply<T> {
  readonly reply: T;
  /** The sink says that it has the write now. */
  readonly committed: boolean;
}

interface Steps<T> {
  readonly delayMs: number;
  readonly commit: () => Promise<T>;
  readonly hold: () => Promise<Release>;
}

const STRIKES: Record<CellFaultKind, <T>(steps: Steps<T>) => Promise<T>> = {
  hold_before: async ({ hold, commit }) => {
    if ((await hold()) === 'drop') throw new Cut();
    return commit();
  },
  hold_after: async ({ hold, commit }) => {
    const reply = await commit();
    if ((await hold()) === 'drop') throw new Cut();
    return reply;
  },
  drop_reply: async ({ commit }) => {
    await commit();
    throw new Cut();
  },
  late_commit: async ({ delayMs, commit }) => {
    await delay(delayMs);
    await commit();
    throw new Cut();
  },
};

export class StruckWrites {
  readonly #faults = new FaultEngine();
  readonly #arrivals = new Arrivals();
  readonly #inHand = new Map<string, number>();

  constructor(readonly line: string) {}

  programme(fault: CellFault): void {
    this.#faults.programme([fault]);
  }

  /** A write has come; what is given back is called when it is settled what it comes to. */
  begun(key: string): () => void {
    this.#note('received', key);
    this.#inHand.set(key, (this.#inHand.get(key) ?? 0) + 1);
    let settled = false;
    return () => {
      if (!settled) this.#inHand.set(key, (this.#inHand.get(key) ?? 1) - 1);
      settled = true;
    };
  }

  /** Hands a write to the sink under the fault of its key; throws `Cut`, and whatever `commit` throws. */
  async carryOut<T>(key: string, commit: () => Promise<SinkReply<T>>): Promise<T> {
    const told = async (): Promise<T> => {
      const { reply, committed } = await commit();
      if (committed) this.#note('committed', key);
      return reply;
    };
    const fault = this.#faults.take('write', key) as CellFault | undefined;
    if (fault === undefined) return told();
    const hold = (): Promise<Release> => {
      const held = this.#faults.hold(key);
      this.#note('held', key);
      return held;
    };
    return STRIKES[fault.fault]({ delayMs: fault.delayMs ?? 0, commit: told, hold });
  }

  /** The sink behind the line; `writesOf` looks into its state. */
  sink(writesOf: (key: string) => Promise<number>, programme = (fault: CellFault) => this.programme(fault)): CellSink {
    return {
      programme: async (fault) => programme(fault),
      wait: (event, moment) => this.#wait(event, moment),
      release: async (key, how) => void this.#faults.release(key, how),
      counts: async (key) => ({
        writes: await writesOf(key),
        received: this.#arrivals.counts(key).received,
        inHand: this.#inHand.get(key) ?? 0,
      }),
    };
  }

  /** Lets everything go that is held. */
  close(): void {
    this.#faults.release('*', 'drop');
  }

  async #wait(event: ArrivalEvent, { key, count = 1, timeoutMs = WAIT_MS }: CellMoment): Promise<void> {
    const arrival = await this.#arrivals.wait(event, key, count, timeoutMs);
    if (arrival === null) throw new Error(`the ${this.line} did not come to "${event} ${count}" in ${timeoutMs} ms`);
  }

  #note(event: ArrivalEvent, key: string): void {
    this.#arrivals.note(event, this.line, key, null);
  }
}
