/**
 * The checkpoint that a decision leads to. Invariant: it follows from checkpoint and decision alone, byte for byte, so
 * whoever advances the same pair gets the same digest.
 */
import { isCheckpoint, RecoveryCheckpoint } from './checkpoint';
import { isDecision, TERMINAL_DECISIONS, type RecoveryDecision } from './decision';
import { commitEffect } from './effect-record';
import { refuse } from './errors';
import { isTerminalPhase, type RecoveryDisposition, type RecoveryPhase } from './vocabulary';

const NEXT_PHASE: Readonly<Record<Exclude<RecoveryDisposition, 'retired'>, RecoveryPhase>> = {
  resume: 'dispatching',
  complete: 'completed',
  review_required: 'reconciling',
};

/** The next checkpoint; the same one back when its phase is terminal. */
export function advanceCheckpoint(checkpoint: RecoveryCheckpoint, decision: RecoveryDecision): RecoveryCheckpoint {
  if (!isCheckpoint(checkpoint)) refuse('checkpoint', 'invalid_checkpoint');
  if (!isDecision(decision)) refuse('decision', 'invalid_decision');
  const { disposition } = decision;
  if (disposition === 'retired') return refuse('decision', 'journal_retired');
  if (decision.sourceCheckpointDigest !== checkpoint.checkpointDigest) {
    refuse('decision', 'decision_checkpoint_mismatch');
  }
  if (isTerminalPhase(checkpoint.phase)) {
    const expected = TERMINAL_DECISIONS[checkpoint.phase];
    const fits = disposition === expected.disposition && decision.reason === expected.reason;
    return fits ? checkpoint : refuse('decision', 'terminal_decision_mismatch');
  }
  const evidence = requireKnownEffects(checkpoint, decision);
  return RecoveryCheckpoint.create({
    workflowId: checkpoint.workflowId,
    runId: checkpoint.runId,
    sequence: checkpoint.sequence + 1n,
    phase: NEXT_PHASE[disposition],
    planDigest: checkpoint.planDigest,
    approvalActionDigest: checkpoint.approvalActionDigest,
    approvalReceiptDigest: checkpoint.approvalReceiptDigest,
    approvalExpiresAt: checkpoint.approvalExpiresAt,
    previousCheckpointDigest: checkpoint.checkpointDigest,
    recoveryEvidenceDigest: decision.evidenceDigest,
    effects: checkpoint.effects.map((effect) => {
      const found = evidence.get(effect.actionId);
      return found === undefined || effect.state === 'committed' ? effect : commitEffect(effect, found);
    }),
  });
}

/** Evidence by action id, after every effect that the decision names has been found in the checkpoint. */
function requireKnownEffects(checkpoint: RecoveryCheckpoint, decision: RecoveryDecision): ReadonlyMap<string, string> {
  const effects = new Map(checkpoint.effects.map((effect) => [effect.actionId, effect]));
  const evidence = new Map(
    decision.committedEffects.map((effect) => [effect.actionId, effect.commitEvidenceDigest] as const),
  );
  if ([...evidence.keys()].some((actionId) => !effects.has(actionId))) refuse('decision', 'unknown_committed_effect');
  if (decision.retryEffectIds.some((actionId) => !effects.has(actionId))) refuse('decision', 'unknown_retry_effect');
  if (decision.compensationEffectIds.some((actionId) => !evidence.has(actionId))) {
    refuse('decision', 'invalid_compensation_effect');
  }
  const keysFit = decision.retryEffectIds.every(
    (actionId, index) => effects.get(actionId)?.idempotencyKey === decision.retryIdempotencyKeys[index],
  );
  if (!keysFit) refuse('decision', 'retry_key_mismatch');
  for (const [actionId, digest] of evidence) {
    const effect = effects.get(actionId);
    if (effect?.state === 'committed' && effect.commitEvidenceDigest !== digest) {
      refuse('decision', 'commit_evidence_changed');
    }
  }
  return evidence;
}
