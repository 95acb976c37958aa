/**
 * How fast the recovery rules are on one core: `npx tsx bench/recovery-rate.ts [checkpoints] [effects]`.
 *
 * Everything is made and checked in this process from bytes in memory, and only its own processor time counts, so the
 * figures are those of the rules alone.
 */
import {
  advanceCheckpoint,
  EffectObservation,
  EffectRecord,
  RecoveryCheckpoint,
  recoverFromHead,
  sha256Digest,
  sha256Hex,
  validateSuccessor,
} from '../src/rules/recovery';
import { askedFor } from './arguments';

const { checkpoints, effects } = askedFor({ counts: { checkpoints: 4_000, effects: 10 } }).counts;
const runId = `run_${sha256Hex('run').slice(0, 32)}`;

function makeEffects(count: number): EffectRecord[] {
  return Array.from({ length: count }, (_, index) =>
    EffectRecord.create({
      runId,
      ordinal: BigInt(index),
      actionId: `act_${sha256Hex(`action ${index}`).slice(0, 32)}`,
      toolId: 'tool:example.org/reserve@1.0.0',
      kind: 'local_tool',
      operationDigest: sha256Digest(`operation ${index}`),
      approvalRequired: false,
      compensationLimit: 'none',
    }),
  );
}

function makeCheckpoint(records: readonly EffectRecord[]): RecoveryCheckpoint {
  return RecoveryCheckpoint.create({
    workflowId: 'workflow:example.org/bench@1.0.0',
    runId,
    sequence: 0n,
    phase: 'planned',
    planDigest: sha256Digest('plan'),
    effects: records,
  });
}

/** In milliseconds of processor time, so that other work on the machine does not count. */
function timed<T>(work: () => T): readonly [T, number] {
  const start = process.cpuUsage();
  const value = work();
  const { user, system } = process.cpuUsage(start);
  return [value, (user + system) / 1000];
}

/** A lineage as files: a run that is reviewed over and over. */
function makeFiles(): Buffer[] {
  let head = makeCheckpoint(makeEffects(effects));
  const files = [Buffer.from(RecoveryCheckpoint.toJson(head))];
  while (files.length < checkpoints) {
    const seen = head.effects.map(({ actionId, operationDigest, idempotencyKey }) =>
      EffectObservation.create({ actionId, operationDigest, idempotencyKey, state: 'ambiguous' }),
    );
    head = advanceCheckpoint(head, recoverFromHead(head, seen, { now: 0n }));
    files.push(Buffer.from(RecoveryCheckpoint.toJson(head)));
  }
  return files;
}

function verify(files: readonly Buffer[], reuse: boolean): void {
  let previous: RecoveryCheckpoint | null = null;
  files.forEach((bytes, index) => {
    const next = RecoveryCheckpoint.fromJson(bytes, { known: reuse ? previous : null });
    validateSuccessor(previous, next, index);
    previous = next;
  });
}

const [files, making] = timed(makeFiles);
const perSecond = (count: number, ms: number): string => `${Math.round((count * 1000) / ms)}/s`;
console.log(`recover + advance + write, ${effects} effects: ${perSecond(checkpoints, making)}`);
for (const [name, reuse] of [
  ['every key derived again', false],
  ['keys of unchanged effects kept', true],
] as const) {
  verify(files.slice(0, 500), reuse);
  const [, ms] = timed(() => verify(files, reuse));
  console.log(`verify (parse, digest, keys, lineage), ${name}: ${perSecond(checkpoints, ms)}`);
}
const [records, recordsMs] = timed(() => makeEffects(1000));
const [large, largeMs] = timed(() => makeCheckpoint(records));
const [text, textMs] = timed(() => RecoveryCheckpoint.toJson(large));
const [, parseMs] = timed(() => RecoveryCheckpoint.fromJson(text));
console.log(
  `1000 effects: records with keys ${recordsMs.toFixed(1)} ms, checkpoint ${largeMs.toFixed(1)} ms, ` +
    `text of ${text.length} bytes ${textMs.toFixed(1)} ms, read and verified ${parseMs.toFixed(1)} ms`,
);
