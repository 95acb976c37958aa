/**
 * Answers to one parked plan, good and bad, and what every door must say to each: the table of receipts that all doors share, and
 * what only a plan that waits can tell. It asks for two approvals, and names Rita as having asked for it; Rex's key is revoked.
 */
import { personDigest } from '../../src/rules/receipts/names';
import type { Answer, Question } from '../../src/rules/receipts/question';
import type { RefusalCode } from '../../src/rules/refusal';
import { deriveActionId } from '../../src/rules/plans/identity';
import { sha256Digest } from '../../src/rules/recovery';
import { doorTable, type Door, type DoorRow } from '../rules/receipts/door-table';
import {
  APPROVER,
  AUDITOR,
  CLERK,
  TestReviewers,
  approvalOf,
  personOf,
  rejectionOf,
  requestOf,
  resolutionOf,
  type Signing,
} from '../support/reviewers';

export const RULE = { approvals: 2, roles: [APPROVER, AUDITOR] } as const;
export const REQUESTER = personDigest(personOf('rita'));

export function reviewers(): TestReviewers {
  const known = new TestReviewers();
  known.add('rex', [APPROVER]);
  known.add('dan', [CLERK]);
  known.revoke('rex');
  return known;
}

export interface Case {
  readonly says: string;
  /** The answer, signed at `now`, unix milliseconds. */
  readonly token: (asked: Question, now: number) => unknown;
  /** Milliseconds after `now` at which it arrives. @default 0 */
  readonly afterMs?: (now: number) => number;
  /** @default 'approve' */
  readonly door?: Answer;
  /** Null: it is kept. */
  readonly code: RefusalCode | null;
}

const at = (now: number): Signing => ({ iat: Math.floor(now / 1000), livesS: 60 });
/** Until a receipt that was signed `now` expires, and so much. */
const atExpiry =
  (offsetMs: number) =>
  (now: number): number =>
    (Math.floor(now / 1000) + 60) * 1000 + offsetMs - now;
const otherRun = `run_${'9'.repeat(32)}`;
const otherAction = deriveActionId(otherRun, 'e0');

const signedRows = new Map<string, readonly DoorRow[]>();

/** The table of every door, for this plan. */
const SHARED: readonly Case[] = rowsFor(
  { journalId: `jrn_${'1'.repeat(32)}`, runId: otherRun, lineage: 1, planDigest: sha256Digest('plan') },
  1_700_000_000_000,
).map(({ what, code }, index) => ({
  says: what,
  code: code === 'admitted' ? null : code,
  token: (asked, now) => rowsFor(asked, now)[index]?.token,
}));

function rowsFor(asked: Omit<Door, 'now'>, now: number): readonly DoorRow[] {
  const { journalId, runId, lineage, planDigest } = asked;
  const key = [journalId, runId, lineage, planDigest, now].join();
  const rows = signedRows.get(key) ?? doorTable({ journalId, runId, lineage, planDigest, now });
  signedRows.set(key, rows);
  return rows;
}

export const CASES: readonly Case[] = [
  ...SHARED,
  { says: 'a rejection', code: null, token: (asked, now) => rejectionOf(asked, 'bob', at(now)) },
  { says: 'a request of who is named', code: null, token: (asked, now) => requestOf(asked, 'rita', at(now)) },
  { says: '1 ms before it expires', code: null, afterMs: atExpiry(-1), token: (asked, now) => approvalOf(asked, 'cleo', at(now)) },
  { says: 'as it expires', code: 'receipt_expired', afterMs: atExpiry(0), token: (asked, now) => approvalOf(asked, 'cleo', at(now)) },
  { says: '1 ms after it expired', code: 'receipt_expired', afterMs: atExpiry(1), token: (asked, now) => approvalOf(asked, 'cleo', at(now)) },
  { says: 'signed 2 s too far ahead', code: 'receipt_not_yet_valid', token: (asked, now) => approvalOf(asked, 'ann', at(now + 302_000)) },
  { says: 'one second too long', code: 'receipt_lifetime', token: (asked, now) => approvalOf(asked, 'ann', { ...at(now), livesS: 30 * 86_400 + 1 }) },
  { says: 'a reobservation', code: null, door: 'resolve', token: (asked, now) => resolutionOf(asked, 'ann', { ...at(now), resolution: 'reobserve' }) },
  { says: 'a resolution about another head', code: 'receipt_stale_head', door: 'resolve', token: (asked, now) => resolutionOf({ ...asked, headDigest: sha256Digest('head') }, 'ann', { ...at(now), resolution: 'abort' }) },
  { says: 'a resolution of who asked for the plan', code: 'receipt_requester', door: 'resolve', token: (asked, now) => resolutionOf(asked, 'rita', { ...at(now), resolution: 'abort' }) },
  { says: 'a resolution in a role that may not decide', code: 'receipt_wrong_role', door: 'resolve', token: (asked, now) => resolutionOf(asked, 'dan', { ...at(now), role: CLERK, resolution: 'abort' }) },
  { says: 'a new lineage for a plan that was never approved', code: 'receipt_not_wanted', door: 'resolve', token: (asked, now) => resolutionOf(asked, 'ann', { ...at(now), resolution: 'new_lineage' }) },
  { says: 'a word about an effect that is not in doubt', code: 'receipt_not_wanted', door: 'resolve', token: (asked, now) => resolutionOf(asked, 'ann', { ...at(now), resolution: 'mark_absent', actionIds: [otherAction] }) },
]; // prettier-ignore

/** What every door says when the answer comes to the wrong one of a workflow's two. */
export const MISPLACED: readonly Case[] = [
  { says: 'an approval as a resolution', code: 'receipt_wrong_type', door: 'resolve', token: (asked, now) => approvalOf(asked, 'ann', at(now)) },
  { says: 'a resolution as an approval', code: 'receipt_wrong_type', door: 'approve', token: (asked, now) => resolutionOf(asked, 'ann', { ...at(now), resolution: 'abort' }) },
]; // prettier-ignore

/** Nonces: used again for something else. `first` is kept, then `second` comes. */
export const REPLAYED = {
  first: (asked: Question, now: number): string =>
    approvalOf(asked, 'ann', { ...at(now), jti: `nonce_${'5'.repeat(32)}` }),
  second: (asked: Question, now: number): string =>
    rejectionOf(asked, 'ann', { ...at(now), jti: `nonce_${'5'.repeat(32)}` }),
} as const;
