/**
 * The one decision about a receipt, at every door. Invariant: client, command line, Update validator and `drive` all ask this
 * function; what it refuses leaves no trace, and what it admits was signed by a key of now, for exactly this plan, in time.
 */
import { Refusal, type RefusalCode } from '../refusal';
import { mayDecide, type ApprovalRule } from './approval-rule';
import { RECEIPT_TYPES, type ReceiptKind } from './claims';
import { decisionUnder, isRequest, type Decision } from './decision';
import { findKey, type Jwks, type KnownKey } from './jwks';
import { decodeReceipt } from './jws';

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
  /** Digests of everybody who is known to have asked for the plan. */
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

/** As `admitDecision`, but throws the refusal. */
export function admit(token: unknown, context: DecisionContext): Decision {
  const { kid, kind, token: text } = decodeReceipt(token);
  const key = findKey(context.keys, kid);
  if (key === null) refuse('receipt_unknown_key', 'is of a key that is not among the reviewers’ keys', 'kid');
  if (key.revoked) refuse('receipt_revoked', 'is of a key that was revoked; sign with another key', 'kid');
  const decision = decisionUnder(text, key);
  refuseElsewhere(decision, context);
  refuseUntimely(decision, context);
  CHECKS[kind]?.(decision, key, context);
  const used = context.seen.get(decision.nonceName);
  if (used !== undefined && used !== decision.actionDigest) {
    refuse('receipt_replayed', 'uses a nonce that was used for another decision; sign again', 'jti');
  }
  return decision;
}

/** The context's name for a claim, and what to say when the claim is for something else. */
function refuseElsewhere({ claims }: Decision, context: DecisionContext): void {
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
function refuseUntimely({ claims, expiresAt }: Decision, context: DecisionContext): void {
  const { now, maxLifetimeMs = MAX_LIFETIME_MS } = context;
  if (claims.iat * 1000 > now + MAX_SKEW_MS) {
    refuse('receipt_not_yet_valid', 'was signed in the future; set the clock of the signer', 'iat');
  }
  const lifetimeMs = (claims.exp - claims.iat) * 1000;
  if (lifetimeMs <= 0 || lifetimeMs > Math.min(maxLifetimeMs, MAX_LIFETIME_MS)) {
    refuse('receipt_lifetime', 'must expire after it was signed, and not later than the policy allows', 'exp');
  }
  if (now >= expiresAt) refuse('receipt_expired', 'has expired; sign again', 'exp');
}

type Check = (decision: Decision, key: KnownKey, context: DecisionContext) => void;
const CHECKS: Record<ReceiptKind, Check | null> = {
  request: checkRequest,
  approval: (decision, key, context) => {
    if (context.rules.length === 0) notWanted('approval');
    checkVoice(decision, key, context);
  },
  resolution: (decision, key, context) => {
    if (context.headDigest === null) notWanted('resolution');
    checkVoice(decision, key, context);
    if (decision.claims.kind === 'resolution' && decision.claims.headDigest !== context.headDigest) {
      refuse(
        'receipt_stale_head',
        'is about a head that has moved; look at the plan again and sign anew',
        'head_digest',
      );
    }
  },
  // Reading the claims refuses these two.
  launch: null,
  signin: null,
};

function checkRequest(_decision: Decision, key: KnownKey, { rules, requester }: DecisionContext): void {
  if (rules.length === 0) notWanted('request');
  if (requester !== null && key.person !== requester) {
    refuse('receipt_requester', 'is a request of somebody else than the plan names', 'kid');
  }
}

/** Whoever decides holds the role in which they speak, may decide in it, and did not ask for the plan. */
function checkVoice(decision: Decision, key: KnownKey, { rules, requesters }: DecisionContext): void {
  if (isRequest(decision)) return;
  const { role } = decision.claims;
  if (!key.roles.includes(role)) refuse('receipt_wrong_role', 'names a role that its key does not hold', 'role');
  if (rules.length > 0 && !rules.some((rule) => mayDecide(rule, role))) {
    refuse('receipt_wrong_role', 'names a role that may not decide about this plan', 'role');
  }
  if (requesters.has(key.person)) {
    refuse('receipt_requester', 'is of the person who asked for the plan; somebody else must decide', 'kid');
  }
}

function notWanted(kind: ReceiptKind): never {
  refuse('receipt_not_wanted', `${RECEIPT_TYPES[kind]} answers nothing that is asked here`, 'receipt');
}

function refuse(code: RefusalCode, reason: string, field: string): never {
  throw new Refusal(code, reason, field);
}
