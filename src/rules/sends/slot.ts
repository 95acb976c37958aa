/**
 * Slots: the right to one send. Invariant: a slot's first content is its last; whoever created it as `begun` may send once,
 * and one created as `closed` was never begun by anyone and never will be.
 */
import { canonicalJson, isDigest } from '../recovery';
import { Fields, parseRecord, type Dict } from '../fields';

export const SLOT_SCHEMA_VERSION = 'countersign.slot.v1';
export const SEND_END_SCHEMA_VERSION = 'countersign.send_end.v1';

/** The head checkpoint under which a slot was taken. */
export interface HeadRef {
  readonly lineage: number;
  readonly sequence: number;
  readonly digest: string;
}

export interface SlotRecord {
  readonly state: 'begun' | 'closed';
  /** Random, made inside the very execution that created the slot. */
  readonly owner: string;
  readonly epoch: number;
  readonly head: HeadRef;
  /** Unix milliseconds. Only ever compared with a horizon of hours, never to decide who is first. */
  readonly openedAt: number;
  readonly deadlineMs: number;
  readonly settleMs: number;
}

export const SEND_OUTCOMES = ['acked', 'refused', 'not_sent'] as const;
export type SendOutcome = (typeof SEND_OUTCOMES)[number];

/** The sender's own typed outcome, durable before the activity completes. An unknown outcome has no record. */
export interface SendEnd {
  readonly owner: string;
  readonly outcome: SendOutcome;
  readonly code: string | null;
  readonly externalId: string | null;
  readonly resultDigest: string | null;
  readonly retryAfterMs: number | null;
}

/** One attempt of one effect, as the journal holds it. */
export interface Slot {
  readonly attempt: number;
  readonly record: SlotRecord;
  readonly end: SendEnd | null;
}

const OWNER = /^own_[0-9a-f]{32}$/;
const CODE = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

/** Codes come from sinks and enter history: anything that does not look like a stable word is replaced. */
export function safeCode(code: string): string {
  return CODE.test(code) ? code : 'refused';
}

export function slotToText(slot: SlotRecord): string {
  return canonicalJson({
    schema_version: SLOT_SCHEMA_VERSION,
    state: slot.state,
    owner: slot.owner,
    epoch: slot.epoch,
    head: headToDict(slot.head),
    opened_at: slot.openedAt,
    deadline_ms: slot.deadlineMs,
    settle_ms: slot.settleMs,
  });
}

export function slotFromBytes(bytes: Uint8Array | string): SlotRecord {
  return parseRecord(bytes, 'slot', (value) => {
    const at = new Fields(value, 'slot');
    at.oneOf('schema_version', [SLOT_SCHEMA_VERSION]);
    const slot = {
      state: at.oneOf('state', ['begun', 'closed'] as const),
      owner: at.text('owner', 'an owner token', (text) => OWNER.test(text)),
      epoch: at.count('epoch'),
      head: headFromDict(at.raw('head'), 'slot.head'),
      openedAt: at.count('opened_at'),
      deadlineMs: at.count('deadline_ms'),
      settleMs: at.count('settle_ms'),
    };
    at.end();
    return slot;
  });
}

export function endToText(end: SendEnd): string {
  return canonicalJson({
    schema_version: SEND_END_SCHEMA_VERSION,
    owner: end.owner,
    outcome: end.outcome,
    code: end.code,
    external_id: end.externalId,
    result_digest: end.resultDigest,
    retry_after_ms: end.retryAfterMs,
  });
}

export function endFromBytes(bytes: Uint8Array | string): SendEnd {
  return parseRecord(bytes, 'send_end', (value) => {
    const at = new Fields(value, 'send_end');
    at.oneOf('schema_version', [SEND_END_SCHEMA_VERSION]);
    const end = {
      owner: at.text('owner', 'an owner token', (text) => OWNER.test(text)),
      outcome: at.oneOf('outcome', SEND_OUTCOMES),
      code: at.nullable('code', (field) => at.text(field, 'a short word', (text) => CODE.test(text))),
      externalId: at.nullable('external_id', (field) => at.text(field, 'text', () => true)),
      resultDigest: at.nullable('result_digest', (field) => at.text(field, 'a sha256 digest', isDigest)),
      retryAfterMs: at.nullable('retry_after_ms', (field) => at.count(field)),
    };
    if ((end.outcome === 'refused') !== (end.code !== null)) at.refuse('belongs to a refusal, and only there', 'code');
    at.end();
    return end;
  });
}

export function headToDict(head: HeadRef): Dict {
  return { lineage: head.lineage, sequence: head.sequence, digest: head.digest };
}

export function headFromDict(value: unknown, path: string): HeadRef {
  const at = new Fields(value, path);
  const head = {
    lineage: at.count('lineage'),
    sequence: at.count('sequence'),
    digest: at.text('digest', 'a sha256 digest', isDigest),
  };
  at.end();
  return head;
}

/** `0001`, `0002`, …: the names under which attempts and their ends stand in `sends/<key>/`. */
export function attemptName(attempt: number): string {
  return String(attempt).padStart(4, '0');
}

const ATTEMPT_ENTRY = /^([0-9]{4})(\.end)?$/;

/** The attempt that an entry's name speaks of, or null for a name that no driver writes. */
export function parseAttemptName(name: string): { attempt: number; end: boolean } | null {
  const match = ATTEMPT_ENTRY.exec(name);
  const attempt = match === null ? 0 : Number(match[1]);
  return match === null || attempt === 0 ? null : { attempt, end: match[2] !== undefined };
}

/** The first attempt that nobody has taken. Slots are taken in order, so nothing stands behind it. */
export function nextAttempt(slots: readonly Slot[]): number {
  return slots.reduce((highest, slot) => Math.max(highest, slot.attempt), 0) + 1;
}

/** Begun, and nobody has said how it ended. */
export function openSlots(slots: readonly Slot[]): readonly Slot[] {
  return slots.filter((slot) => slot.record.state === 'begun' && slot.end === null);
}

/** How long the outcome of an open slot can stay unseen, in milliseconds, counted from any moment after it was taken. */
export function quietMs(slot: Slot): number {
  return slot.record.deadlineMs + slot.record.settleMs;
}
