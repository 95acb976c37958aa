/**
 * Answers to one parked plan, good and bad, and what every door must say to each. The plan has two effects, asks for two approvals
 * of approvers, and names Rita as having asked for it; Rex's key is revoked.
 */
import { personDigest } from '../../src/rules/receipts/names';
import { toBase64url } from '../../src/rules/receipts/base64url';
import type { Answer, Question } from '../../src/rules/receipts/question';
import type { RefusalCode } from '../../src/rules/refusal';
import { deriveActionId } from '../../src/rules/plans/identity';
import { sha256Digest } from '../../src/rules/recovery';
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

export const RULE = { approvals: 2, roles: [APPROVER] } as const;
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

function tampered(token: string, part: 0 | 1 | 2, change: (text: string) => string): string {
  return token
    .split('.')
    .map((text, index) => (index === part ? change(text) : text))
    .join('.');
}

/** The same claims under another header, signed by nobody. */
function headed(token: string, header: Record<string, unknown>): string {
  const text = JSON.stringify(header);
  return tampered(token, 0, () => toBase64url(Uint8Array.from(text, (character) => character.charCodeAt(0))));
}

export const CASES: readonly Case[] = [
  { says: 'an approval', code: null, token: (asked, now) => approvalOf(asked, 'ann', at(now)) },
  { says: 'a rejection', code: null, token: (asked, now) => rejectionOf(asked, 'bob', at(now)) },
  { says: 'a request of who is named', code: null, token: (asked, now) => requestOf(asked, 'rita', at(now)) },
  { says: 'a request of somebody else', code: 'receipt_requester', token: (asked, now) => requestOf(asked, 'bob', at(now)) },
  { says: '1 ms before it expires', code: null, afterMs: atExpiry(-1), token: (asked, now) => approvalOf(asked, 'cleo', at(now)) },
  { says: 'as it expires', code: 'receipt_expired', afterMs: atExpiry(0), token: (asked, now) => approvalOf(asked, 'cleo', at(now)) },
  { says: '1 ms after it expired', code: 'receipt_expired', afterMs: atExpiry(1), token: (asked, now) => approvalOf(asked, 'cleo', at(now)) },
  { says: 'signed too far ahead', code: 'receipt_not_yet_valid', token: (asked, now) => approvalOf(asked, 'ann', at(now + 302_000)) },
  { says: 'for too long', code: 'receipt_lifetime', token: (asked, now) => approvalOf(asked, 'ann', { ...at(now), livesS: 30 * 86_400 + 1 }) },
  { says: 'for another plan', code: 'receipt_wrong_plan', token: (asked, now) => approvalOf({ ...asked, planDigest: sha256Digest('another') }, 'ann', at(now)) },
  { says: 'for another run', code: 'receipt_wrong_run', token: (asked, now) => approvalOf({ ...asked, runId: otherRun }, 'ann', at(now)) },
  { says: 'for another lineage', code: 'receipt_wrong_lineage', token: (asked, now) => approvalOf({ ...asked, lineage: 2 }, 'ann', at(now)) },
  { says: 'for another journal', code: 'receipt_wrong_journal', token: (asked, now) => approvalOf({ ...asked, journalId: `jrn_${'f'.repeat(32)}` }, 'ann', at(now)) },
  { says: 'of a key that nobody knows', code: 'receipt_unknown_key', token: (asked, now) => approvalOf(asked, 'nobody', at(now)) },
  { says: 'of a revoked key', code: 'receipt_revoked', token: (asked, now) => approvalOf(asked, 'rex', at(now)) },
  { says: 'in a role that may not decide', code: 'receipt_wrong_role', token: (asked, now) => approvalOf(asked, 'ann', { ...at(now), role: AUDITOR }) },
  { says: 'in a role that the key does not hold', code: 'receipt_wrong_role', token: (asked, now) => approvalOf(asked, 'dan', at(now)) },
  { says: 'of who asked for the plan', code: 'receipt_requester', token: (asked, now) => approvalOf(asked, 'rita', at(now)) },
  { says: 'of a type that decides nothing here', code: 'receipt_wrong_type', token: (asked, now) => headed(approvalOf(asked, 'ann', at(now)), { alg: 'EdDSA', kid: 'key-ann', typ: 'countersign-launch+jwt' }) },
  { says: 'of a type that nobody knows', code: 'receipt_wrong_type', token: (asked, now) => headed(approvalOf(asked, 'ann', at(now)), { alg: 'EdDSA', kid: 'key-ann', typ: 'JWT' }) },
  { says: 'an approval called a request', code: 'receipt_malformed', token: (asked, now) => headed(approvalOf(asked, 'ann', at(now)), { alg: 'EdDSA', kid: 'key-ann', typ: 'countersign-request+jwt' }) },
  { says: 'by another algorithm', code: 'receipt_malformed', token: (asked, now) => headed(approvalOf(asked, 'ann', at(now)), { alg: 'HS256', kid: 'key-ann', typ: 'countersign-approval+jwt' }) },
  { says: 'by no algorithm', code: 'receipt_malformed', token: (asked, now) => headed(approvalOf(asked, 'ann', at(now)), { alg: 'none', kid: 'key-ann', typ: 'countersign-approval+jwt' }) },
  { says: 'with a key in its header', code: 'receipt_malformed', token: (asked, now) => headed(approvalOf(asked, 'ann', at(now)), { alg: 'EdDSA', kid: 'key-ann', typ: 'countersign-approval+jwt', jwk: {} }) },
  { says: 'signed by another key', code: 'receipt_unsigned', token: (asked, now) => headed(approvalOf(asked, 'bob', at(now)), { alg: 'EdDSA', kid: 'key-ann', typ: 'countersign-approval+jwt' }) },
  { says: 'with another signature', code: 'receipt_unsigned', token: (asked, now) => tampered(approvalOf(asked, 'ann', at(now)), 2, (text) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`) },
  { says: 'no token', code: 'receipt_malformed', token: () => 'approve it, please' },
  { says: 'too long', code: 'receipt_malformed', token: () => `${'a'.repeat(9_000)}.b.c` },
  { says: 'a reobservation', code: null, door: 'resolve', token: (asked, now) => resolutionOf(asked, 'ann', { ...at(now), resolution: 'reobserve' }) },
  { says: 'a resolution about another head', code: 'receipt_stale_head', door: 'resolve', token: (asked, now) => resolutionOf({ ...asked, headDigest: sha256Digest('head') }, 'ann', { ...at(now), resolution: 'abort' }) },
  { says: 'a resolution of who asked for the plan', code: 'receipt_requester', door: 'resolve', token: (asked, now) => resolutionOf(asked, 'rita', { ...at(now), resolution: 'abort' }) },
  { says: 'a resolution in a role that may not decide', code: 'receipt_wrong_role', door: 'resolve', token: (asked, now) => resolutionOf(asked, 'ann', { ...at(now), role: AUDITOR, resolution: 'abort' }) },
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
