/**
 * A sink as the rows of the matrix see it: it can be told to go wrong for one key, and says what it holds under that key.
 * Invariant: `writes` is read from the sink's own state, so that nothing on the way to it can hide a second write.
 */
import { type SinkAdmin } from '../../src/testing/admin-api';
import { type Fault, type Release } from '../../src/testing/faults';

export type CellFaultKind = 'hold_before' | 'hold_after' | 'drop_reply' | 'late_commit';

export type CellFault = Pick<Fault, 'delayMs'> & { readonly fault: CellFaultKind; readonly key: string };

export interface CellMoment {
  readonly key: string;
  /** The how-manieth such event of this key. @default 1 */
  readonly count?: number;
  /** @default 30000 */
  readonly timeoutMs?: number;
}

export interface CellCounts {
  readonly writes: number;
  /** Sends that have come as far as the sink, or as the line before it. */
  readonly received: number;
  /** Those of them of which it is not settled yet what they come to. */
  readonly inHand: number;
}

export interface CellSink {
  /** Strikes the next write of the key. */
  programme(fault: CellFault): Promise<void>;
  /** Rejects when it does not happen in time. */
  wait(event: 'received' | 'held' | 'committed', moment: CellMoment): Promise<void>;
  release(key: string, how?: Release): Promise<void>;
  counts(key: string): Promise<CellCounts>;
}

/** One of the test servers, which carry their faults inside. */
export function embeddedSink(admin: SinkAdmin): CellSink {
  return {
    programme: (fault) => admin.programme(fault),
    wait: async (event, moment) => void (await admin.wait(event, moment)),
    release: async (key, how) => void (await admin.release(key, how)),
    counts: async (key) => {
      const { writes, received, keys } = await admin.counts(key);
      const settled = keys.reduce((sum, one) => sum + one.writes + one.replayed + one.refused, 0);
      return { writes, received, inHand: received - settled };
    },
  };
}
