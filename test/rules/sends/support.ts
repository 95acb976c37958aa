/** Values for tests of the rules about sends. */
import type { SinkTraits } from '../../../src/rules/sends/proof';
import type { SendEnd, Slot, SlotRecord } from '../../../src/rules/sends/slot';

export const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
export const owner = (digit: string): string => `own_${digit.repeat(32)}`;

export const DEADLINE_MS = 1_000;
export const SETTLE_MS = 2_000;
export const QUIET_MS = DEADLINE_MS + SETTLE_MS;
export const OPENED_AT = 1_000_000;

export const slotRecord: SlotRecord = {
  state: 'begun',
  owner: owner('a'),
  epoch: 1,
  head: { lineage: 1, sequence: 1, digest: digest('b') },
  openedAt: OPENED_AT,
  deadlineMs: DEADLINE_MS,
  settleMs: SETTLE_MS,
};

export const sendEnd: SendEnd = {
  owner: owner('a'),
  outcome: 'acked',
  code: null,
  externalId: 'row-1',
  resultDigest: digest('c'),
  retryAfterMs: null,
};

export const SLOT_KINDS = ['closed', 'open_quiet', 'open_unquiet', 'not_sent', 'refused', 'acked'] as const;
export type SlotKind = (typeof SLOT_KINDS)[number];

const ENDS: Record<SlotKind, SendEnd | null> = {
  closed: null,
  open_quiet: null,
  open_unquiet: null,
  not_sent: { ...sendEnd, outcome: 'not_sent', externalId: null, resultDigest: null },
  refused: { ...sendEnd, outcome: 'refused', code: 'invalid', externalId: null, resultDigest: null },
  acked: sendEnd,
};

export function slotsOf(kinds: readonly SlotKind[]): readonly Slot[] {
  return kinds.map((kind, index) => ({
    attempt: index + 1,
    record:
      kind === 'closed'
        ? { ...slotRecord, state: 'closed', deadlineMs: 0, settleMs: 0 }
        : { ...slotRecord, openedAt: OPENED_AT + index },
    end: ENDS[kind],
  }));
}

export const blindTraits: SinkTraits = {
  sideEffect: 'non_idempotent_write',
  lookup: 'none',
  enforcesKey: 'no',
  deadlineMs: DEADLINE_MS,
  settleMs: SETTLE_MS,
  horizonMs: null,
  maxAttempts: 3,
};
