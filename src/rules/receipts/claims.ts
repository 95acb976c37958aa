/**
 * What a receipt says, by its kind. Invariant: the claims of a kind are an exact set; those about a plan are bound to journal, run,
 * lineage and plan, that of a launch to its job, that of a sign-in to its inbox; no claim names a person.
 */
import { canonicalJson, isActionId, isDigest, isRunId, sha256Digest } from '../recovery';
import { Fields, type Dict } from '../fields';
import { isJournalId } from '../journal-record';
import { Refusal } from '../refusal';
import { launchClaimsToRecord, launchDecided, type LaunchClaims } from './launch-claims';
import { isRole } from './names';
import { signInClaimsToRecord, type SignInClaims } from './sign-in-claims';
import { timesFrom, timesToRecord, type ReceiptTimes } from './receipt-times';

export const RECEIPT_KINDS = ['request', 'approval', 'resolution', 'launch', 'signin'] as const;
export type ReceiptKind = (typeof RECEIPT_KINDS)[number];

/** The `typ` of each kind, so that a receipt of one kind can never pass for another. */
export const RECEIPT_TYPES: Record<ReceiptKind, string> = {
  request: 'countersign-request+jwt',
  approval: 'countersign-approval+jwt',
  resolution: 'countersign-resolution+jwt',
  launch: 'countersign-launch+jwt',
  signin: 'countersign-signin+jwt',
};

export const APPROVAL_DECISIONS = ['approve', 'reject'] as const;
export type ApprovalDecision = (typeof APPROVAL_DECISIONS)[number];

export const RESOLUTIONS = ['reobserve', 'mark_committed', 'mark_absent', 'abort', 'new_lineage'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** Whether a resolution speaks of single effects, and may name what the sink calls one. */
const SPEAKS_OF: Record<Resolution, 'plan' | 'effects' | 'written effects'> = {
  reobserve: 'plan',
  mark_committed: 'written effects',
  mark_absent: 'effects',
  abort: 'plan',
  new_lineage: 'plan',
};

interface CommonClaims extends ReceiptTimes {
  readonly journalId: string;
  readonly runId: string;
  readonly lineage: number;
  readonly planDigest: string;
}
export interface RequestClaims extends CommonClaims {
  readonly kind: 'request';
}
export interface ApprovalClaims extends CommonClaims {
  readonly kind: 'approval';
  readonly role: string;
  readonly decision: ApprovalDecision;
}
export interface ResolutionClaims extends CommonClaims {
  readonly kind: 'resolution';
  readonly role: string;
  /** The head that the person saw. */
  readonly headDigest: string;
  readonly resolution: Resolution;
  readonly actionIds: readonly string[];
  readonly externalId: string | null;
  /** Of `mark_committed` of one action: what it gave back, in the content store. */
  readonly resultDigest?: string;
  /** Of `mark_committed`: the document by which the person knows. It is kept by whoever has it. */
  readonly evidenceDigest?: string;
  /** Of `abort`: a code, as a handler fails with one. */
  readonly reason?: string;
}
/** What is said about a plan. */
export type Claims = RequestClaims | ApprovalClaims | ResolutionClaims;
/** Whatever is signed. */
export type SignedClaims = Claims | LaunchClaims | SignInClaims;

const MOST_ACTIONS = 128;
const REASON = /^[a-z][a-z_]{0,47}$/;
const EXTERNAL_ID = /^[^\p{Cc}\p{Surrogate}]{1,512}$/u;

type Reader = (at: Fields, common: CommonClaims) => Claims;
/** `null`: says nothing about a plan. */
const READERS: Record<ReceiptKind, Reader | null> = {
  request: (_at, common) => ({ kind: 'request', ...common }),
  approval: (at, common) => ({
    kind: 'approval',
    ...common,
    role: roleOf(at),
    decision: at.oneOf('decision', APPROVAL_DECISIONS),
  }),
  resolution: readResolution,
  launch: null,
  signin: null,
};

/** Throws `receipt_malformed`, or `receipt_wrong_type` for a kind that says nothing about a plan. */
export function claimsFromRecord(kind: ReceiptKind, value: unknown): Claims {
  const read = READERS[kind];
  if (read === null)
    throw new Refusal('receipt_wrong_type', `${RECEIPT_TYPES[kind]} is not accepted here`, 'header.typ');
  const at = new Fields(value, 'claims', 'receipt_malformed');
  const claims = read(at, {
    journalId: at.text('journal_id', 'a journal id', isJournalId),
    runId: at.text('run_id', 'a run id', isRunId),
    lineage: positive(at, 'lineage'),
    planDigest: at.text('plan_digest', 'a sha256 digest', isDigest),
    ...timesFrom(at),
  });
  at.end();
  return claims;
}

export function claimsToRecord(claims: SignedClaims): Dict {
  if (claims.kind === 'launch') return launchClaimsToRecord(claims);
  if (claims.kind === 'signin') return signInClaimsToRecord(claims);
  return { ...decided(claims), ...timesToRecord(claims) };
}

/** Digest of what is decided: two receipts with one of these say the same, whatever their nonces and times. */
export function actionDigest(claims: Claims | LaunchClaims): string {
  const said = claims.kind === 'launch' ? launchDecided(claims) : decided(claims);
  return sha256Digest(canonicalJson({ typ: RECEIPT_TYPES[claims.kind], ...said }));
}

function decided(claims: Claims): Dict {
  const common = {
    journal_id: claims.journalId,
    run_id: claims.runId,
    lineage: claims.lineage,
    plan_digest: claims.planDigest,
  };
  switch (claims.kind) {
    case 'request':
      return common;
    case 'approval':
      return { ...common, role: claims.role, decision: claims.decision };
    case 'resolution':
      return {
        ...common,
        role: claims.role,
        head_digest: claims.headDigest,
        resolution: claims.resolution,
        action_ids: claims.actionIds,
        external_id: claims.externalId,
        // What is not said has no field: a receipt that never knew of it keeps its bytes.
        ...(claims.resultDigest === undefined ? {} : { result_digest: claims.resultDigest }),
        ...(claims.evidenceDigest === undefined ? {} : { evidence_digest: claims.evidenceDigest }),
        ...(claims.reason === undefined ? {} : { reason: claims.reason }),
      };
  }
}

function readResolution(at: Fields, common: CommonClaims): ResolutionClaims {
  const claims = {
    kind: 'resolution' as const,
    ...common,
    role: roleOf(at),
    headDigest: at.text('head_digest', 'a sha256 digest', isDigest),
    resolution: at.oneOf('resolution', RESOLUTIONS),
    actionIds: at
      .list('action_ids')
      .map((id) => (isActionId(id) ? id : at.refuse('must list action ids', 'action_ids'))),
    externalId: at.nullable('external_id', (field) =>
      at.text(field, 'up to 512 characters of plain text, or null', (text) => EXTERNAL_ID.test(text)),
    ),
    ...saidMore(at),
  };
  const speaksOf = SPEAKS_OF[claims.resolution];
  const named = claims.actionIds.length;
  if ((speaksOf === 'plan') !== (named === 0)) {
    at.refuse('must name actions for mark_committed and mark_absent, and only for these', 'action_ids');
  }
  if (named > MOST_ACTIONS || new Set(claims.actionIds).size !== named) {
    at.refuse(`must name at most ${MOST_ACTIONS} actions, each once; sign several receipts`, 'action_ids');
  }
  if (claims.externalId !== null && (speaksOf !== 'written effects' || named !== 1)) {
    at.refuse('belongs to mark_committed of one action', 'external_id');
  }
  if (claims.resultDigest !== undefined && (speaksOf !== 'written effects' || named !== 1)) {
    at.refuse('belongs to mark_committed of one action', 'result_digest');
  }
  if (claims.evidenceDigest !== undefined && speaksOf !== 'written effects') {
    at.refuse('belongs to mark_committed', 'evidence_digest');
  }
  if (claims.reason !== undefined && claims.resolution !== 'abort') at.refuse('belongs to abort', 'reason');
  return claims;
}

type SaidMore = Pick<ResolutionClaims, 'resultDigest' | 'evidenceDigest' | 'reason'>;

function saidMore(at: Fields): SaidMore {
  const text = (field: string, rule: string, holds: (value: string) => boolean): string | null =>
    at.optional<string | null>(field, () => at.text(field, rule, holds), null);
  const resultDigest = text('result_digest', 'a sha256 digest', isDigest);
  const evidenceDigest = text('evidence_digest', 'a sha256 digest', isDigest);
  const reason = text('reason', 'a code such as card_declined', isReason);
  return {
    ...(resultDigest === null ? {} : { resultDigest }),
    ...(evidenceDigest === null ? {} : { evidenceDigest }),
    ...(reason === null ? {} : { reason }),
  };
}

/** A code of a closed alphabet, so that nobody writes about people where everybody reads. */
export function isReason(text: string): boolean {
  return REASON.test(text);
}

function roleOf(at: Fields): string {
  return at.text('role', 'a role such as role:example.org/approver', isRole);
}

function positive(at: Fields, field: string): number {
  const value = at.count(field);
  return value > 0 ? value : at.refuse('must be 1 or more', field);
}
