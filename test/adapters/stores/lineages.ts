/** Lineages to write in tests: one run, `count` effects, one checkpoint for each phase. */
import { createHash } from 'node:crypto';
import { EffectRecord, RecoveryCheckpoint, type RecoveryPhase } from '../../../src/rules/recovery';

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** A finished run: planned, dispatching, completed. */
export const FINISHED: readonly RecoveryPhase[] = ['planned', 'dispatching', 'completed'];

export function lineage(label: string, phases: readonly RecoveryPhase[], effects = 1): RecoveryCheckpoint[] {
  const made: RecoveryCheckpoint[] = [];
  for (const phase of phases) made.push(successor(label, made.at(-1) ?? null, phase, effects));
  return made;
}

/** `variant` goes into the evidence digest: the same place, other bytes. */
export function successor(
  label: string,
  previous: RecoveryCheckpoint | null,
  phase: RecoveryPhase,
  effects = 1,
  variant?: string,
): RecoveryCheckpoint {
  const runId = `run_${digest(label).slice(7, 39)}`;
  const done = phase === 'completed' || previous?.effects[0]?.state === 'committed';
  return RecoveryCheckpoint.create({
    workflowId: 'workflow:example.org/test@1.0.0',
    runId,
    sequence: previous === null ? 0n : previous.sequence + 1n,
    phase,
    planDigest: digest(`${label} plan`),
    previousCheckpointDigest: previous?.checkpointDigest ?? null,
    recoveryEvidenceDigest: variant === undefined ? null : digest(variant),
    effects: Array.from({ length: effects }, (_, index) =>
      EffectRecord.create({
        runId,
        ordinal: BigInt(index),
        actionId: `act_${digest(`${label} ${index}`).slice(7, 39)}`,
        toolId: 'tool:example.org/reserve@1.0.0',
        kind: 'local_tool',
        operationDigest: digest(`${label} operation ${index}`),
        approvalRequired: false,
        compensationLimit: 'none',
        state: done ? 'committed' : 'pending',
        commitEvidenceDigest: done ? digest(`${label} evidence ${index}`) : null,
      }),
    ),
  });
}
