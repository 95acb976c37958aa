/**
 * What a single checkpoint must satisfy. Invariant: the rules are tried in the order of the contract, so that the first
 * fault found is the one that every reader of the format reports.
 */
import { type RecoveryCheckpoint } from './checkpoint';
import { isEffectRecord, keyFits, type EffectRecord } from './effect-record';
import { refuse } from './errors';
import { requireDigest, requireDigestOrNull, requireInteger } from './fields';
import { RECOVERY_CHECKPOINT_SCHEMA_VERSION } from './limits';
import { type RecoveryPhase } from './vocabulary';

/** What a phase asks of approval and effects, beyond the rules for all. */
interface PhaseDemand {
  readonly receipt: 'never' | 'always' | 'for_effects_that_require_it';
  readonly everyEffectCommitted: boolean;
}

const PHASE_DEMANDS: Readonly<Record<RecoveryPhase, PhaseDemand>> = {
  planned: { receipt: 'never', everyEffectCommitted: false },
  approval_recorded: { receipt: 'always', everyEffectCommitted: false },
  dispatching: { receipt: 'for_effects_that_require_it', everyEffectCommitted: false },
  reconciling: { receipt: 'never', everyEffectCommitted: false },
  completed: { receipt: 'for_effects_that_require_it', everyEffectCommitted: true },
  aborted: { receipt: 'never', everyEffectCommitted: false },
};

/** Refuses fields that make no checkpoint. Ids and phase are already known to be valid; the digest is checked after. */
export function requireCheckpointRules(checkpoint: Omit<RecoveryCheckpoint, 'checkpointDigest'>): void {
  if (checkpoint.schemaVersion !== RECOVERY_CHECKPOINT_SCHEMA_VERSION) {
    refuse('schema_version', 'unsupported_schema_version');
  }
  requireInteger(checkpoint.sequence, 'sequence');
  requireDigest(checkpoint.planDigest, 'plan_digest');
  requireEffects(checkpoint.effects, checkpoint.runId);
  requireApproval(checkpoint);
  requirePhaseDemands(checkpoint);
  requirePrevious(checkpoint);
  requireDigestOrNull(checkpoint.recoveryEvidenceDigest, 'recovery_evidence_digest');
}

function requireEffects(effects: readonly EffectRecord[], runId: string): void {
  if (!Array.isArray(effects) || effects.length === 0) refuse('effects', 'invalid_effects');
  const actionIds = new Set<string>();
  const keys = new Set<string>();
  for (const effect of effects) {
    if (!isEffectRecord(effect)) refuse('effects', 'invalid_effect');
    actionIds.add(effect.actionId);
    keys.add(effect.idempotencyKey);
  }
  if (effects.some((effect, index) => effect.ordinal !== BigInt(index))) refuse('effects', 'invalid_effect_order');
  if (actionIds.size !== effects.length) refuse('effects', 'duplicate_action_id');
  if (keys.size !== effects.length) refuse('effects', 'duplicate_idempotency_key');
  if (effects.some((effect) => !keyFits(effect, runId))) refuse('effects', 'idempotency_key_mismatch');
}

type Approval = Pick<
  RecoveryCheckpoint,
  'approvalActionDigest' | 'approvalReceiptDigest' | 'approvalExpiresAt' | 'planDigest'
>;

function requireApproval(checkpoint: Approval): void {
  const { approvalActionDigest, approvalReceiptDigest, approvalExpiresAt } = checkpoint;
  const trio = [approvalActionDigest, approvalReceiptDigest, approvalExpiresAt];
  if (trio.every((part) => part === null)) return;
  if (trio.some((part) => part === null)) refuse('approval', 'incomplete_approval_receipt');
  requireDigest(approvalActionDigest, 'approval_action_digest');
  requireDigest(approvalReceiptDigest, 'approval_receipt_digest');
  requireInteger(approvalExpiresAt, 'approval_expires_at');
  if (approvalActionDigest !== checkpoint.planDigest) refuse('approval_action_digest', 'approval_action_mismatch');
}

function requirePhaseDemands(
  checkpoint: Pick<RecoveryCheckpoint, 'phase' | 'approvalReceiptDigest' | 'effects'>,
): void {
  const { receipt, everyEffectCommitted } = PHASE_DEMANDS[checkpoint.phase];
  const needsReceipt =
    receipt === 'always' ||
    (receipt === 'for_effects_that_require_it' && checkpoint.effects.some((effect) => effect.approvalRequired));
  if (needsReceipt && checkpoint.approvalReceiptDigest === null) refuse('approval', 'missing_approval_receipt');
  if (everyEffectCommitted && checkpoint.effects.some((effect) => effect.state !== 'committed')) {
    refuse('effects', 'incomplete_effects');
  }
}

function requirePrevious(checkpoint: Pick<RecoveryCheckpoint, 'sequence' | 'previousCheckpointDigest'>): void {
  const { sequence, previousCheckpointDigest } = checkpoint;
  if (sequence === 0n) {
    if (previousCheckpointDigest !== null) refuse('checkpoint', 'unexpected_previous_digest');
  } else {
    if (previousCheckpointDigest === null) refuse('checkpoint', 'missing_previous_digest');
    requireDigest(previousCheckpointDigest, 'previous_checkpoint_digest');
  }
}
