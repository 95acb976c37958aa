/**
 * The one decision about a receipt, at every door. Invariant: client, command line, Update validator and `drive` all ask this
 * function; what it refuses leaves no trace, and what it admits was signed by a key of now, for exactly this plan, in time.
 */
import { Refusal, type RefusalCode } from '../refusal';
import { isOpen, mayDecide, type ApprovalRule } from './approval-rule';
import { RECEIPT_TYPES, actionDigest, type Claims } from './claims';
import { decisionUnder, type Decision } from './decision';
import { findKey, type Jwks, type KnownKey } from './jwks';
import { claimsOf, decodeReceipt } from './jws';
import { nonceName } from './nonce-claim';
import type { ReceiptTimes } from './receipt-times';

/** How far the clock of a signer may be ahead, in milliseconds. */
export const MAX_SKEW_MS = 300_000;
/** Longest life of a receipt, in milliseconds; a policy may lower it. */
export const MAX_LIFETIME_MS = 30 * 24 * 3_600_000;

/** What a door knows of the plan that a receipt is for. */
export interface DecisionContext {
  /** Unix milliseconds. */
  readonly now: number;
  readonly keys: Jwks;
  readonly journalId: string;
  readonly runId: string;
  readonly lineage: number;
  readonly planDigest: string;
  /** The head that a resolution must be about; null while there is no question to answer. */
  readonly headDigest: string | null;
  /** Digests of everybody who has signed a request for the plan. */
  readonly requesters: ReadonlySet<string>;
  /** The person that the plan itself names, when it names one. */
  readonly requester: string | null;
  /** The approvals that are asked for now; empty when none is. */
  readonly rules: readonly ApprovalRule[];
  /** Nonces that are known to be used: their names, and the digest of what they were used for. */
  readonly seen: ReadonlyMap<string, string>;
  /** @default MAX_LIFETIME_MS */
  readonly maxLifetimeMs?: number;
}

export type Admission =
  { readonly ok: true; readonly decision: Decision } | { readonly ok: false; readonly refusal: Refusal };

export function admitDecision(token: unknown, context: DecisionContext): Admission {
  try {
    return { ok: true, decision: admit(token, context) };
  } catch (fault) {
    if (fault instanceof Refusal) return { ok: false, refusal: fault };
    throw fault;
  }
}

/**
 * As `admitDecision`, but throws the refusal. The signature costs a hundred times more than all the rest, so it comes last:
 * whatever can be refused without it is, and a flood of receipts for something else delays nobody.
 */
export function admit(token: unknown, context: DecisionContext): Decision {
  const decoded = decodeReceipt(token);
  const key = findKey(context.keys, decoded.kid);
  if (key === null) refuse('receipt_unknown_key', 'is of a key that is not among the reviewers’ keys', 'kid');
  if (key.revoked) refuse('receipt_revoked', 'is of a key that was revoked; sign with another key', 'kid');
  const claims = claimsOf(decoded);
  refuseElsewhere(claims, context);
  refuseUntimely(claims, context);
  refuseUnwanted(claims, key, context);
  const used = context.seen.get(nonceName(key.kid, claims.jti));
  if (used !== undefined && used !== actionDigest(claims)) {
    refuse('receipt_replayed', 'uses a nonce that was used for another decision; sign again', 'jti');
  }
  return decisionUnder(decoded.token, key);
}

function refuseElsewhere(claims: Claims, context: DecisionContext): void {
  if (claims.journalId !== context.journalId) refuse('receipt_wrong_journal', 'is for another journal', 'journal_id');
  if (claims.runId !== context.runId) refuse('receipt_wrong_run', 'is for another run', 'run_id');
  if (claims.planDigest !== context.planDigest) refuse('receipt_wrong_plan', 'is for another plan', 'plan_digest');
  if (claims.lineage !== context.lineage) {
    refuse(
      'receipt_wrong_lineage',
      'is for another lineage of this run; look at the plan again and sign anew',
      'lineage',
    );
  }
}

/** Differences of seconds only: no product of a claim can lose precision. */
export function refuseUntimely(
  claims: ReceiptTimes,
  { now, maxLifetimeMs = MAX_LIFETIME_MS }: Pick<DecisionContext, 'now' | 'maxLifetimeMs'>,
): void {
  if (claims.iat * 1000 > now + MAX_SKEW_MS) {
    refuse('receipt_not_yet_valid', 'was signed in the future; set the clock of the signer', 'iat');
  }
  const lifetimeMs = (claims.exp - claims.iat) * 1000;
  if (lifetimeMs <= 0 || lifetimeMs > Math.min(maxLifetimeMs, MAX_LIFETIME_MS)) {
    refuse('receipt_lifetime', 'must expire after it was signed, and not later than the policy allows', 'exp');
  }
  if (now >= claims.exp * 1000) refuse('receipt_expired', 'has expired; sign again', 'exp');
}

function refuseUnwanted(claims: Claims, key: KnownKey, context: DecisionContext): void {
  switch (claims.kind) {
    case 'request':
      if (context.rules.length === 0) notWanted('request');
      if (context.requester !== null && key.person !== context.requester) {
        refuse('receipt_requester', 'is a request of somebody else than the plan names', 'kid');
      }
      return;
    case 'approval':
      if (context.rules.length === 0) notWanted('approval');
      refuseVoice(claims.role, key, context);
      return refuseLate(claims.role, context);
    case 'resolution':
      if (context.headDigest === null) notWanted('resolution');
      if (claims.headDigest !== context.headDigest) {
        const reason = 'is about a head that has moved; look at the plan again and sign anew';
        refuse('receipt_stale_head', reason, 'head_digest');
      }
      return refuseVoice(claims.role, key, context);
  }
}

/** Whoever decides holds the role in which they speak, may decide in it, and did not ask for the plan. */
function refuseVoice(role: string, key: KnownKey, { rules, requester, requesters }: DecisionContext): void {
  if (!key.roles.includes(role)) refuse('receipt_wrong_role', 'names a role that its key does not hold', 'role');
  if (rules.length > 0 && !rules.some((rule) => mayDecide(rule, role))) {
    refuse('receipt_wrong_role', 'names a role that may not decide about this plan', 'role');
  }
  if (key.person === requester || requesters.has(key.person)) {
    refuse('receipt_requester', 'is of the person who asked for the plan; somebody else must decide', 'kid');
  }
}

function refuseLate(role: string, { rules, now }: DecisionContext): void {
  if (rules.some((rule) => mayDecide(rule, role) && isOpen(rule, now))) return;
  refuse('receipt_late', 'comes when nobody can answer any more; what follows from that, its session says', 'receipt');
}

function notWanted(kind: Claims['kind']): never {
  refuse('receipt_not_wanted', `${RECEIPT_TYPES[kind]} answers nothing that is asked here`, 'receipt');
}

function refuse(code: RefusalCode, reason: string, field: string): never {
  throw new Refusal(code, reason, field);
}
