/**
 * The one decision about the receipt of a launch, at every door. Invariant: what it admits was signed by a person's key of now, in
 * time, for exactly this launch; whatever else it says is refused by the field that says it.
 */
import { Refusal, type RefusalCode } from '../refusal';
import { refuseUntimely } from './admit';
import { findKey, type Jwks, type ReviewerKey } from './jwks';
import { decodeReceipt, isSignedBy, launchClaimsOf, receiptDigest } from './jws';
import type { Launch, LaunchClaims } from './launch-claims';

/** How long an authorization lasts, unless somebody signs it for another time, in milliseconds. */
export const AUTHORIZATION_MS = 24 * 3_600_000;

/** What a door knows of the launch that a receipt is for. */
export interface LaunchContext {
  /** Unix milliseconds. */
  readonly now: number;
  readonly keys: Jwks;
  readonly journalId: string;
  readonly launch: Launch;
  /** Digest of the person who started the run, as its first receipt says; null before there is one. */
  readonly authorizer: string | null;
  /** Roles that may authorize. Absent: any that the key holds. */
  readonly roles?: readonly string[];
  /** Digest of the receipt that the job has already; null while it has none. */
  readonly held: string | null;
  /** @default 30 days */
  readonly maxLifetimeMs?: number;
}

export interface LaunchReceipt {
  /** Digest of the compact text: the receipt's name, which covers its expiry. */
  readonly digest: string;
  readonly token: string;
  /** The key that verified it, as it was then. */
  readonly key: ReviewerKey;
  readonly claims: LaunchClaims;
  /** Unix milliseconds; it is valid before this moment only. */
  readonly expiresAt: number;
}

export type LaunchAdmission =
  { readonly ok: true; readonly receipt: LaunchReceipt } | { readonly ok: false; readonly refusal: Refusal };

export function admitLaunch(token: unknown, context: LaunchContext): LaunchAdmission {
  try {
    return { ok: true, receipt: admittedLaunch(token, context) };
  } catch (fault) {
    if (fault instanceof Refusal) return { ok: false, refusal: fault };
    throw fault;
  }
}

/** As `admitLaunch`, but throws the refusal. The signature, which costs most, comes last. */
export function admittedLaunch(token: unknown, context: LaunchContext): LaunchReceipt {
  const decoded = decodeReceipt(token);
  const key = findKey(context.keys, decoded.kid);
  if (key === null) refuse('receipt_unknown_key', 'is of a key that is not among the reviewers’ keys', 'kid');
  if (key.revoked) refuse('receipt_revoked', 'is of a key that was revoked; sign with another key', 'kid');
  const claims = launchClaimsOf(decoded);
  if (claims.journalId !== context.journalId) refuse('receipt_wrong_journal', 'is for another journal', 'journal_id');
  refuseOther(claims, context.launch);
  refuseUntimely(claims, context);
  if (!key.roles.includes(claims.role) || context.roles?.includes(claims.role) === false) {
    refuse('receipt_wrong_role', 'names a role that its key does not hold, or that may authorize no launch', 'role');
  }
  if (context.authorizer !== null && key.person !== context.authorizer) {
    refuse('receipt_wrong_launch', 'is of another person than the one who started the run', 'kid');
  }
  if (context.held !== null && context.held !== receiptDigest(decoded.token)) {
    refuse('receipt_replayed', 'is a second receipt of a job that has one', 'job_id');
  }
  return launchUnder(decoded.token, key);
}

/** Decodes a receipt and checks its signature under a key that is already known to be the right one. */
export function launchUnder(token: string, { kid, x, person, roles }: ReviewerKey): LaunchReceipt {
  const decoded = decodeReceipt(token);
  const claims = launchClaimsOf(decoded);
  if (decoded.kid !== kid) refuse('receipt_unknown_key', 'names another key than the one given', 'kid');
  if (!isSignedBy(decoded, x)) refuse('receipt_unsigned', 'has no valid signature of its key', 'receipt');
  return { digest: receiptDigest(token), token, key: { kid, x, person, roles }, claims, expiresAt: claims.exp * 1000 };
}

type Fault = readonly [field: string, code: RefusalCode, reason: string];
/** In the order in which they are compared. */
const DIFFERENT: Record<keyof Launch, Fault> = {
  runId: ['run_id', 'receipt_wrong_run', 'is for another run'],
  jobId: ['job_id', 'receipt_wrong_launch', 'is for another job; each job needs a receipt of its own'],
  snapshotDigest: ['snapshot_digest', 'receipt_wrong_launch', 'is for another snapshot'],
  planDigest: ['plan_digest', 'receipt_wrong_plan', 'is for another plan'],
  provider: ['provider', 'receipt_wrong_launch', 'is for another provider; there is no fallback'],
  model: ['model', 'receipt_wrong_launch', 'is for another model; there is no fallback'],
  contextDigest: ['context_digest', 'receipt_wrong_launch', 'is for another context'],
  contentBoundary: ['content_boundary', 'receipt_wrong_launch', 'is for another content boundary'],
  costCeiling: ['cost_ceiling', 'receipt_wrong_launch', 'is for another cost ceiling'],
};

/** Throws at the first claim that is not what the launch is. */
export function refuseOther(claims: Launch, launch: Launch): void {
  for (const name of Object.keys(DIFFERENT) as (keyof Launch)[]) {
    const [field, code, reason] = DIFFERENT[name];
    if (claims[name] !== launch[name]) refuse(code, reason, field);
  }
}

function refuse(code: RefusalCode, reason: string, field: string): never {
  throw new Refusal(code, reason, field);
}
