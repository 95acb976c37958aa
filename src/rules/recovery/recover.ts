/**
 * Decides how a run goes on, from its lineage and what its sinks were found to hold. Invariant: an effect is retried only
 * if it was never recorded as committed and its sink was found not to hold it; whatever else is seen goes to a person.
 */
import { isCheckpoint, type RecoveryCheckpoint } from './checkpoint';
import { RecoveryDecision, TERMINAL_DECISIONS, type CommittedEffect } from './decision';
import { type EffectRecord } from './effect-record';
import { refuse } from './errors';
import { requireInteger } from './fields';
import { validateCheckpointLineage } from './lineage';
import { isObservation, type EffectObservation } from './observation';
import { isRetiredRecord, type RetiredJournalRecord } from './retired-record';
import { isTerminalPhase, type RecoveryReason } from './vocabulary';

/** What an observation makes of one effect. */
type Finding = 'mismatch' | 'ambiguous' | 'committed' | 'retry';

export function recoverWorkflow(
  lineage: readonly RecoveryCheckpoint[] | RetiredJournalRecord,
  observations: readonly EffectObservation[],
  clock: { readonly now: bigint },
): RecoveryDecision {
  const now = requireInteger(clock.now, 'now');
  if (isRetiredRecord(lineage)) {
    return RecoveryDecision.create({
      disposition: 'retired',
      reason: 'journal_retired',
      sourceCheckpointDigest: lineage.finalCheckpointDigest,
    });
  }
  const head = validateCheckpointLineage(lineage as readonly RecoveryCheckpoint[]);
  return recoverFromHead(head as RecoveryCheckpoint, observations, { now });
}

/** The same for a head whose lineage has already been validated, link by link perhaps. */
export function recoverFromHead(
  head: RecoveryCheckpoint,
  observations: readonly EffectObservation[],
  clock: { readonly now: bigint },
): RecoveryDecision {
  const now = requireInteger(clock.now, 'now');
  if (!isCheckpoint(head)) return refuse('lineage', 'invalid_checkpoint');
  const sourceCheckpointDigest = head.checkpointDigest;
  if (isTerminalPhase(head.phase)) {
    return RecoveryDecision.create({ ...TERMINAL_DECISIONS[head.phase], sourceCheckpointDigest });
  }
  return reconcile(head, coverEffects(head, observations), now);
}

/** Exactly one observation for each effect, by action id. */
function coverEffects(
  head: RecoveryCheckpoint,
  observations: readonly EffectObservation[],
): ReadonlyMap<string, EffectObservation> {
  if (!Array.isArray(observations)) return refuse('observations', 'invalid_observations');
  const byAction = new Map<string, EffectObservation>();
  for (const observation of observations) {
    if (!isObservation(observation)) return refuse('observations', 'invalid_observation');
    byAction.set(observation.actionId, observation);
  }
  if (byAction.size !== observations.length) return refuse('observations', 'duplicate_observation');
  const covered = byAction.size === head.effects.length && head.effects.every(({ actionId }) => byAction.has(actionId));
  return covered ? byAction : refuse('observations', 'observation_coverage_mismatch');
}

function reconcile(
  head: RecoveryCheckpoint,
  observations: ReadonlyMap<string, EffectObservation>,
  now: bigint,
): RecoveryDecision {
  const found: Record<Finding, EffectRecord[]> = { mismatch: [], ambiguous: [], committed: [], retry: [] };
  const committedEffects: CommittedEffect[] = [];
  for (const effect of head.effects) {
    const observation = observations.get(effect.actionId) as EffectObservation;
    const finding = judge(effect, observation);
    found[finding].push(effect);
    if (finding === 'committed') {
      committedEffects.push({
        actionId: effect.actionId,
        commitEvidenceDigest: observation.commitEvidenceDigest as string,
      });
    }
  }
  const sourceCheckpointDigest = head.checkpointDigest;
  const reviewReason = whyReview(head, found, now);
  if (reviewReason !== null) {
    const compensable = found.committed.filter((effect) => effect.compensationLimit === 'propose_only');
    return RecoveryDecision.create({
      disposition: 'review_required',
      reason: reviewReason,
      sourceCheckpointDigest,
      committedEffects,
      compensationEffectIds: compensable.map(({ actionId }) => actionId),
    });
  }
  return RecoveryDecision.create({
    disposition: found.retry.length > 0 ? 'resume' : 'complete',
    reason: found.retry.length > 0 ? 'safe_to_resume' : 'effects_reconciled',
    sourceCheckpointDigest,
    retryEffectIds: found.retry.map(({ actionId }) => actionId),
    retryIdempotencyKeys: found.retry.map(({ idempotencyKey }) => idempotencyKey),
    committedEffects,
  });
}

function judge(effect: EffectRecord, observation: EffectObservation): Finding {
  if (observation.operationDigest !== effect.operationDigest || observation.idempotencyKey !== effect.idempotencyKey) {
    return 'mismatch';
  }
  if (observation.state === 'ambiguous') return 'ambiguous';
  if (effect.state === 'committed' && observation.commitEvidenceDigest !== effect.commitEvidenceDigest) {
    return 'ambiguous';
  }
  return observation.state === 'committed' ? 'committed' : 'retry';
}

/** The first reason of the contract's priority that sends the run to a person. An expiry of `now` is already expired. */
function whyReview(
  head: RecoveryCheckpoint,
  found: Readonly<Record<Finding, readonly EffectRecord[]>>,
  now: bigint,
): RecoveryReason | null {
  if (found.mismatch.length > 0) return 'effect_mismatch';
  if (found.ambiguous.length > 0) return 'ambiguous_effect';
  if (!found.retry.some((effect) => effect.approvalRequired)) return null;
  if (head.approvalExpiresAt === null) return 'approval_missing';
  return head.approvalExpiresAt <= now ? 'approval_expired' : null;
}
