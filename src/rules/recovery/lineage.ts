/**
 * The rules between neighbouring checkpoints. Invariant: along a valid lineage a run never becomes another run, approval
 * is never changed, and what was committed stays committed with the same evidence.
 */
import { isCheckpoint, type RecoveryCheckpoint } from './checkpoint';
import { sameIdentity, type EffectRecord } from './effect-record';
import { refuse } from './errors';
import { type RecoveryPhase } from './vocabulary';

/** Every edge that a lineage may take. The first checkpoint may stand in any phase. */
export const PHASE_EDGES: Readonly<Record<RecoveryPhase, readonly RecoveryPhase[]>> = {
  planned: ['planned', 'approval_recorded', 'dispatching', 'reconciling', 'aborted'],
  approval_recorded: ['approval_recorded', 'dispatching', 'reconciling', 'aborted'],
  dispatching: ['dispatching', 'reconciling', 'completed', 'aborted'],
  reconciling: ['dispatching', 'reconciling', 'completed', 'aborted'],
  completed: [],
  aborted: [],
};

/** Refuses a list that is not one unbroken lineage from sequence 0; returns its head, `null` for an allowed empty one. */
export function validateCheckpointLineage(
  lineage: readonly RecoveryCheckpoint[],
  options: { readonly allowEmpty?: boolean } = {},
): RecoveryCheckpoint | null {
  if (!Array.isArray(lineage)) return refuse('lineage', 'invalid_lineage');
  if (lineage.length === 0 && options.allowEmpty !== true) refuse('lineage', 'empty_lineage');
  if (!lineage.every(isCheckpoint)) refuse('lineage', 'invalid_checkpoint');
  let previous: RecoveryCheckpoint | null = null;
  for (let index = 0; index < lineage.length; index += 1) {
    const next = lineage[index] as RecoveryCheckpoint;
    validateSuccessor(previous, next, index);
    previous = next;
  }
  return previous;
}

/**
 * Refuses `next` unless it may stand at `index`, right after `previous` (`null` at index 0). Calling it link by link
 * proves a whole lineage while holding no more than two checkpoints.
 */
export function validateSuccessor(
  previous: RecoveryCheckpoint | null,
  next: RecoveryCheckpoint,
  index: number | bigint,
): void {
  if (!isCheckpoint(next) || (previous !== null && !isCheckpoint(previous))) refuse('lineage', 'invalid_checkpoint');
  if (next.sequence !== BigInt(index)) refuse('lineage', 'checkpoint_sequence_gap');
  if (previous === null) {
    // A checkpoint of sequence 0 has no previous digest; any other must follow the one that it names.
    if (next.previousCheckpointDigest !== null) refuse('lineage', 'lineage_digest_mismatch');
    return;
  }
  if (next.previousCheckpointDigest !== previous.checkpointDigest) refuse('lineage', 'lineage_digest_mismatch');
  if (
    next.workflowId !== previous.workflowId ||
    next.runId !== previous.runId ||
    next.planDigest !== previous.planDigest
  ) {
    refuse('lineage', 'workflow_identity_changed');
  }
  requireSameApproval(previous, next);
  if (!PHASE_EDGES[previous.phase].includes(next.phase)) refuse('lineage', 'invalid_phase_transition');
  if (next.effects.length !== previous.effects.length) refuse('lineage', 'effect_set_changed');
  for (let ordinal = 0; ordinal < next.effects.length; ordinal += 1) {
    requireEffectSuccessor(previous.effects[ordinal] as EffectRecord, next.effects[ordinal] as EffectRecord);
  }
}

function requireSameApproval(previous: RecoveryCheckpoint, next: RecoveryCheckpoint): void {
  const same =
    next.approvalActionDigest === previous.approvalActionDigest &&
    next.approvalReceiptDigest === previous.approvalReceiptDigest &&
    next.approvalExpiresAt === previous.approvalExpiresAt;
  if (same) return;
  if (previous.approvalReceiptDigest !== null) refuse('lineage', 'approval_receipt_changed');
  if (next.phase !== 'approval_recorded') refuse('lineage', 'approval_added_out_of_phase');
}

function requireEffectSuccessor(previous: EffectRecord, next: EffectRecord): void {
  if (next === previous) return;
  if (!sameIdentity(previous, next)) refuse('lineage', 'effect_identity_changed');
  const kept = next.state === 'committed' && next.commitEvidenceDigest === previous.commitEvidenceDigest;
  if (previous.state === 'committed' && !kept) refuse('lineage', 'committed_effect_changed');
}
