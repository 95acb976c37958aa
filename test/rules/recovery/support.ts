/**
 * Makers of valid records for the tests of the recovery rules, and of the answer of a call that must refuse.
 */
import fc from 'fast-check';
import {
  EffectObservation,
  EffectRecord,
  RecoveryCheckpoint,
  RecoveryError,
  sha256Digest,
  sha256Hex,
  type EffectRecordInput,
  type JsonValue,
  type ObservationState,
  type RecoveryCheckpointInput,
} from '../../../src/rules/recovery';

export const digest = (label: string): string => sha256Digest(label);
export const runIdOf = (label: string): string => `run_${sha256Hex(label).slice(0, 32)}`;
export const actionIdOf = (label: string): string => `act_${sha256Hex(label).slice(0, 32)}`;

export const RUN_ID = runIdOf('run');
export const PLAN = digest('plan');
export const EXPIRY = 2_000_000_000n;
export const RECEIPT = {
  approvalActionDigest: PLAN,
  approvalReceiptDigest: digest('receipt'),
  approvalExpiresAt: EXPIRY,
} as const;

export function makeEffect(ordinal: number, fields: Partial<EffectRecordInput> = {}): EffectRecord {
  return EffectRecord.create({
    runId: RUN_ID,
    ordinal: BigInt(ordinal),
    actionId: actionIdOf(`action ${ordinal}`),
    toolId: 'tool:example.org/reserve@1.0.0',
    kind: 'local_tool',
    operationDigest: digest(`operation ${ordinal}`),
    approvalRequired: false,
    compensationLimit: 'none',
    ...fields,
  });
}

export function makeEffects(count: number, fields: Partial<EffectRecordInput> = {}): EffectRecord[] {
  return Array.from({ length: count }, (_, ordinal) => makeEffect(ordinal, fields));
}

export const COMMITTED = { state: 'committed', commitEvidenceDigest: digest('evidence') } as const;

export function makeCheckpoint(fields: Partial<RecoveryCheckpointInput> = {}): RecoveryCheckpoint {
  return RecoveryCheckpoint.create({
    workflowId: 'workflow:example.org/booking@1.0.0',
    runId: RUN_ID,
    sequence: 0n,
    phase: 'planned',
    planDigest: PLAN,
    effects: makeEffects(2),
    ...fields,
  });
}

export function makeSuccessor(
  previous: RecoveryCheckpoint,
  fields: Partial<RecoveryCheckpointInput> = {},
): RecoveryCheckpoint {
  return RecoveryCheckpoint.create({
    ...previous,
    sequence: previous.sequence + 1n,
    previousCheckpointDigest: previous.checkpointDigest,
    ...fields,
  });
}

export function observe(
  effect: EffectRecord,
  state: ObservationState,
  fields: { readonly evidence?: string; readonly operationDigest?: string; readonly idempotencyKey?: string } = {},
): EffectObservation {
  return EffectObservation.create({
    actionId: effect.actionId,
    operationDigest: fields.operationDigest ?? effect.operationDigest,
    idempotencyKey: fields.idempotencyKey ?? effect.idempotencyKey,
    state,
    commitEvidenceDigest:
      state === 'committed' ? (fields.evidence ?? effect.commitEvidenceDigest ?? digest('evidence')) : null,
  });
}

/** The text of the refusal. A call that succeeds, or fails with any other error, has none. */
export function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (fault) {
    if (fault instanceof RecoveryError) return fault.message;
    throw fault;
  }
  return 'no refusal';
}

export async function refusalOfAsync(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (fault) {
    if (fault instanceof RecoveryError) return fault.message;
    throw fault;
  }
  return 'no refusal';
}

/** A parsed record with some fields replaced, as text of plain JSON. Integers are written in full. */
export function toText(value: JsonValue): string {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(toText).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value as Readonly<Record<string, JsonValue>>)
      .map(([key, item]) => `${JSON.stringify(key)}:${toText(item)}`)
      .join(',')}}`;
  }
  return JSON.stringify(value);
}

const hex = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });

export const anyDigest = hex(64).map((text) => `sha256:${text}`);

/** Effects of any mixture; `runId` decides their keys. */
export function anyEffects(
  runId: string,
  options: { readonly committed?: boolean } = {},
): fc.Arbitrary<EffectRecord[]> {
  const effect = fc.record({
    toolId: fc.constantFrom('tool:example.org/reserve@1.0.0', 'tool:a.b/c', 'tool:x-y.example/charge@10.0.3'),
    kind: fc.constantFrom('local_tool' as const, 'fhir_write' as const, 'omop_batch' as const),
    operationDigest: anyDigest,
    approvalRequired: fc.boolean(),
    compensationLimit: fc.constantFrom('none' as const, 'propose_only' as const),
    committed: options.committed === undefined ? fc.boolean() : fc.constant(options.committed),
    evidence: anyDigest,
  });
  return fc.array(effect, { minLength: 1, maxLength: 5 }).map((items) =>
    items.map(({ committed, evidence, ...item }, ordinal) =>
      EffectRecord.create({
        ...item,
        runId,
        ordinal: BigInt(ordinal),
        actionId: actionIdOf(`${ordinal} ${item.operationDigest}`),
        state: committed ? 'committed' : 'pending',
        commitEvidenceDigest: committed ? evidence : null,
      }),
    ),
  );
}

/** Any valid first checkpoint that is not terminal. */
export const anyOpenCheckpoint: fc.Arbitrary<RecoveryCheckpoint> = hex(32)
  .map((text) => `run_${text}`)
  .chain((runId) =>
    fc.record({
      runId: fc.constant(runId),
      planDigest: anyDigest,
      phase: fc.constantFrom(
        'planned' as const,
        'approval_recorded' as const,
        'dispatching' as const,
        'reconciling' as const,
      ),
      receipt: fc.option(anyDigest, { nil: null }),
      expiry: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
      effects: anyEffects(runId),
    }),
  )
  .map(({ receipt, expiry, phase, planDigest, ...fields }) => {
    const needed =
      phase === 'approval_recorded' ||
      (phase === 'dispatching' && fields.effects.some((effect) => effect.approvalRequired));
    const approved = receipt ?? (needed ? digest('receipt') : null);
    return makeCheckpoint({
      ...fields,
      phase,
      planDigest,
      approvalActionDigest: approved === null ? null : planDigest,
      approvalReceiptDigest: approved,
      approvalExpiresAt: approved === null ? null : expiry,
    });
  });
