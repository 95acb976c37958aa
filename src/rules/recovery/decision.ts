/**
 * The outcome of a recovery and its evidence. Invariant: disposition, reason and lists always fit together, and the
 * evidence digest covers them all; neither the time nor the observations enter it.
 */
import { canonicalJson } from './canonical-json';
import { refuse, type RecoveryErrorCode } from './errors';
import { requireDigest, requireWord } from './fields';
import { isActionId, isIdempotencyKey } from './identifiers';
import { isJsonObject, type JsonObject } from './json-value';
import { RECOVERY_EVIDENCE_SCHEMA_VERSION } from './limits';
import { Seal } from './sealed';
import { sha256Digest } from './sha256';
import {
  RECOVERY_DISPOSITIONS,
  RECOVERY_REASONS,
  type RecoveryDisposition,
  type RecoveryReason,
  type TerminalPhase,
} from './vocabulary';

export interface CommittedEffect {
  readonly actionId: string;
  readonly commitEvidenceDigest: string;
}

export interface RecoveryDecision {
  readonly schemaVersion: string;
  readonly disposition: RecoveryDisposition;
  readonly reason: RecoveryReason;
  readonly sourceCheckpointDigest: string;
  readonly retryEffectIds: readonly string[];
  readonly retryIdempotencyKeys: readonly string[];
  readonly committedEffects: readonly CommittedEffect[];
  readonly compensationEffectIds: readonly string[];
  readonly evidenceDigest: string;
}

export interface RecoveryDecisionInput {
  /** @default RECOVERY_EVIDENCE_SCHEMA_VERSION */
  readonly schemaVersion?: string;
  readonly disposition: RecoveryDisposition;
  readonly reason: RecoveryReason;
  readonly sourceCheckpointDigest: string;
  readonly retryEffectIds?: readonly string[];
  readonly retryIdempotencyKeys?: readonly string[];
  readonly committedEffects?: readonly CommittedEffect[];
  readonly compensationEffectIds?: readonly string[];
  /** When given, it must be the digest of the other fields. */
  readonly evidenceDigest?: string;
}

type Unsealed = Omit<RecoveryDecision, 'evidenceDigest'>;

/** Which reasons a disposition may have and which lists it may carry. */
interface DispositionRule {
  readonly reasons: readonly RecoveryReason[];
  readonly retries: 'some' | 'none';
  readonly committed: 'any' | 'none';
  readonly compensations: 'any' | 'none';
  readonly otherwise: RecoveryErrorCode;
}

const DISPOSITION_RULES: Readonly<Record<RecoveryDisposition, DispositionRule>> = {
  resume: {
    reasons: ['safe_to_resume'],
    retries: 'some',
    committed: 'any',
    compensations: 'none',
    otherwise: 'invalid_resume_decision',
  },
  complete: {
    reasons: ['effects_reconciled', 'already_complete'],
    retries: 'none',
    committed: 'any',
    compensations: 'none',
    otherwise: 'invalid_complete_decision',
  },
  review_required: {
    reasons: ['workflow_aborted', 'ambiguous_effect', 'effect_mismatch', 'approval_missing', 'approval_expired'],
    retries: 'none',
    committed: 'any',
    compensations: 'any',
    otherwise: 'invalid_review_decision',
  },
  retired: {
    reasons: ['journal_retired'],
    retries: 'none',
    committed: 'none',
    compensations: 'none',
    otherwise: 'invalid_retired_decision',
  },
};

/** The only decision that fits a phase which nothing follows. */
export const TERMINAL_DECISIONS: Readonly<
  Record<TerminalPhase, Readonly<Pick<RecoveryDecision, 'disposition' | 'reason'>>>
> = {
  completed: { disposition: 'complete', reason: 'already_complete' },
  aborted: { disposition: 'review_required', reason: 'workflow_aborted' },
};

const seal = new Seal<RecoveryDecision>();

export const RecoveryDecision = {
  create(input: RecoveryDecisionInput): RecoveryDecision {
    const schemaVersion = input.schemaVersion ?? RECOVERY_EVIDENCE_SCHEMA_VERSION;
    if (schemaVersion !== RECOVERY_EVIDENCE_SCHEMA_VERSION) refuse('schema_version', 'unsupported_evidence_version');
    const disposition = requireWord(RECOVERY_DISPOSITIONS, input.disposition, 'disposition', 'unknown_disposition');
    const reason = requireWord(RECOVERY_REASONS, input.reason, 'reason', 'unknown_reason');
    const sourceCheckpointDigest = requireDigest(input.sourceCheckpointDigest, 'source_checkpoint_digest');
    const retryEffectIds = requireList(input.retryEffectIds ?? [], isActionId, 'retry_effect_ids');
    const retryIdempotencyKeys = requireList(
      input.retryIdempotencyKeys ?? [],
      isIdempotencyKey,
      'retry_idempotency_keys',
    );
    const compensationEffectIds = requireList(input.compensationEffectIds ?? [], isActionId, 'compensation_effect_ids');
    if (retryEffectIds.length !== retryIdempotencyKeys.length) refuse('retry_effect_ids', 'retry_count_mismatch');
    const rule = DISPOSITION_RULES[disposition];
    const committed: readonly unknown[] = Array.isArray(input.committedEffects ?? [])
      ? (input.committedEffects ?? [])
      : refuse('committed_effects', 'invalid_sequence');
    const fits =
      rule.reasons.includes(reason) &&
      (rule.retries === 'some') === retryEffectIds.length > 0 &&
      (rule.committed === 'any' || committed.length === 0) &&
      (rule.compensations === 'any' || compensationEffectIds.length === 0);
    if (!fits) refuse('decision', rule.otherwise);
    const unsealed: Unsealed = {
      schemaVersion,
      disposition,
      reason,
      sourceCheckpointDigest,
      retryEffectIds,
      retryIdempotencyKeys,
      committedEffects: requireCommitted(committed),
      compensationEffectIds,
    };
    const evidenceDigest = sha256Digest(canonicalJson(toUnsealedDict(unsealed)));
    if (input.evidenceDigest !== undefined) {
      requireDigest(input.evidenceDigest, 'evidence_digest');
      if (input.evidenceDigest !== evidenceDigest) refuse('evidence_digest', 'evidence_digest_mismatch');
    }
    return seal.seal({ ...unsealed, evidenceDigest });
  },

  toDict(decision: RecoveryDecision): JsonObject {
    return { ...toUnsealedDict(decision), evidence_digest: decision.evidenceDigest };
  },

  /** Canonical JSON: the recovery evidence. A checkpoint keeps only its digest, so the text must be kept elsewhere. */
  toJson(decision: RecoveryDecision): string {
    return canonicalJson(RecoveryDecision.toDict(decision));
  },
} as const;

export function isDecision(value: unknown): value is RecoveryDecision {
  return seal.holds(value);
}

function requireList(
  items: readonly string[],
  isItem: (item: unknown) => item is string,
  fieldName: string,
): readonly string[] {
  if (!Array.isArray(items) || !items.every(isItem)) return refuse(fieldName, 'invalid_sequence');
  if (new Set(items).size !== items.length) refuse(fieldName, 'duplicate_item');
  return Object.freeze([...items]);
}

function requireCommitted(items: readonly unknown[]): readonly CommittedEffect[] {
  const committed = items.map((item) => {
    const pair = isJsonObject(item) ? (item as Partial<Record<keyof CommittedEffect, unknown>>) : {};
    const { actionId, commitEvidenceDigest } = pair;
    if (!isActionId(actionId)) return refuse('committed_effects', 'invalid_committed_effect');
    return Object.freeze({
      actionId,
      commitEvidenceDigest: requireDigest(commitEvidenceDigest, 'committed_effects'),
    });
  });
  if (new Set(committed.map(({ actionId }) => actionId)).size !== committed.length) {
    refuse('committed_effects', 'duplicate_item');
  }
  return Object.freeze(committed);
}

function toUnsealedDict(decision: Unsealed): JsonObject {
  return {
    schema_version: decision.schemaVersion,
    disposition: decision.disposition,
    reason: decision.reason,
    source_checkpoint_digest: decision.sourceCheckpointDigest,
    retry_effect_ids: decision.retryEffectIds,
    retry_idempotency_keys: decision.retryIdempotencyKeys,
    committed_effects: decision.committedEffects.map((effect) => ({
      action_id: effect.actionId,
      commit_evidence_digest: effect.commitEvidenceDigest,
    })),
    compensation_effect_ids: decision.compensationEffectIds,
  };
}
