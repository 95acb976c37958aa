/**
 * Values that somebody prepared.
 *
 * Held here:
 * - a forged, copied or changed record is not a record: the rules take only what their own constructors made, and that
 *   cannot be changed afterwards;
 * - names of the language (`__proto__`, `constructor`, `toString`) are fields like any other;
 * - objects that fail or change when they are read are refused, and read only once;
 * - bytes from another realm are bytes;
 * - nothing that was read ever stands in a message.
 */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import {
  appendOutcome,
  EffectObservation,
  EffectRecord,
  RecoveryCheckpoint,
  RecoveryDecision,
  recoverWorkflow,
  RetiredJournalRecord,
  sha256Hex,
  validateCheckpointLineage,
  type RecoveryCheckpointInput,
} from '../../../src/rules/recovery';
import { COMMITTED, digest, makeCheckpoint, makeEffect, makeEffects, observe, refusalOf } from './support';

const checkpoint = makeCheckpoint();
const dict = RecoveryCheckpoint.toDict(checkpoint);

describe('forged records', () => {
  const completed = { ...checkpoint, phase: 'completed' as const };
  it('are no checkpoints', () => {
    expect(refusalOf(() => validateCheckpointLineage([completed]))).toBe('lineage: invalid_checkpoint');
    expect(refusalOf(() => recoverWorkflow([completed], [], { now: 0n }))).toBe('lineage: invalid_checkpoint');
    expect(refusalOf(() => appendOutcome([], completed))).toBe('checkpoint: invalid_checkpoint');
    const inherited = Object.create(checkpoint) as RecoveryCheckpoint;
    expect(refusalOf(() => validateCheckpointLineage([inherited]))).toBe('lineage: invalid_checkpoint');
    const proxied = new Proxy(checkpoint, {});
    expect(refusalOf(() => validateCheckpointLineage([proxied]))).toBe('lineage: invalid_checkpoint');
  });

  it('are no effects', () => {
    const forged = { ...makeEffect(0), ...COMMITTED };
    expect(refusalOf(() => makeCheckpoint({ effects: [forged] }))).toBe('effects: invalid_effect');
    expect(refusalOf(() => makeCheckpoint({ effects: [null as unknown as EffectRecord] }))).toBe(
      'effects: invalid_effect',
    );
    expect(refusalOf(() => makeCheckpoint({ effects: null as unknown as EffectRecord[] }))).toBe(
      'effects: invalid_effects',
    );
  });

  it('are no retired journal: a plain object is taken for a lineage, and refused', () => {
    const forged = { finalCheckpointDigest: digest('x') } as RetiredJournalRecord;
    expect(refusalOf(() => recoverWorkflow(forged, [], { now: 0n }))).toBe('lineage: invalid_lineage');
  });

  it('an effect made for another run does not enter', () => {
    const stranger = makeEffect(0, { runId: `run_${'f'.repeat(32)}` });
    expect(refusalOf(() => makeCheckpoint({ effects: [stranger] }))).toBe('effects: idempotency_key_mismatch');
  });
});

describe('a record that was made', () => {
  const decision = recoverWorkflow(
    [checkpoint],
    checkpoint.effects.map((effect) => observe(effect, 'committed')),
    { now: 0n },
  );
  const record = RetiredJournalRecord.create({
    finalCheckpointDigest: digest('final'),
    recoveryEvidenceDigest: digest('evidence'),
    checkpointRecoveryEvidenceDigest: null,
    phase: 'completed',
    checkpointCount: 1n,
    effectCount: 1n,
    committedEffectCount: 1n,
  });
  it.each<readonly [string, object]>([
    ['checkpoint', checkpoint],
    ['list of effects', checkpoint.effects],
    ['effect', checkpoint.effects[0] as object],
    ['observation', observe(makeEffect(0), 'absent')],
    ['decision', decision],
    ['list of committed effects', decision.committedEffects],
    ['committed effect', decision.committedEffects[0] as object],
    ['retired record', record],
  ])('cannot be changed: %s', (_, value) => {
    expect(Object.isFrozen(value)).toBe(true);
  });

  it('does not change with the list that it was made from', () => {
    const effects = makeEffects(2);
    const made = makeCheckpoint({ effects });
    effects.pop();
    expect(made.effects).toHaveLength(2);
    const ids = [makeEffect(0).actionId];
    const keys = [makeEffect(0).idempotencyKey];
    const resumed = RecoveryDecision.create({
      disposition: 'resume',
      reason: 'safe_to_resume',
      sourceCheckpointDigest: digest('x'),
      retryEffectIds: ids,
      retryIdempotencyKeys: keys,
    });
    ids.push('act_x');
    expect(resumed.retryEffectIds).toHaveLength(1);
  });
});

describe('names of the language', () => {
  const text = RecoveryCheckpoint.toJson(checkpoint);
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])('%s is an unknown field', (name) => {
    const polluted = text.replace('{', `{"${name}":{"schema_version":"x"},`);
    expect(refusalOf(() => RecoveryCheckpoint.fromJson(polluted))).toBe('checkpoint: unknown_field');
    expect(({} as Record<string, unknown>).schema_version).toBeUndefined();
  });

  it('a missing field is not found in the prototype', () => {
    const { phase, ...rest } = dict;
    const hidden = Object.assign(Object.create({ phase }) as object, rest);
    expect(refusalOf(() => RecoveryCheckpoint.fromDict(hidden))).toBe('checkpoint: missing_field');
    const { kind, ...effect } = EffectRecord.toDict(makeEffect(0));
    expect(refusalOf(() => EffectRecord.fromDict(Object.assign(Object.create({ kind }) as object, effect)))).toBe(
      'effect: missing_field',
    );
  });
});

describe('objects that run code when they are read', () => {
  it('are refused when they fail', () => {
    const failing = Object.defineProperty({ ...dict }, 'phase', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    expect(refusalOf(() => RecoveryCheckpoint.fromDict(failing))).toBe('checkpoint: unreadable_mapping');
    const unlisted = new Proxy({}, { ownKeys: () => { throw new Error('no'); } }); // prettier-ignore
    expect(refusalOf(() => RecoveryCheckpoint.fromDict(unlisted))).toBe('checkpoint: unreadable_mapping');
    expect(refusalOf(() => EffectRecord.fromDict(unlisted))).toBe('effect: unreadable_mapping');
  });

  it('cannot answer twice', () => {
    let reads = 0;
    const shifting = Object.defineProperty({ ...dict }, 'phase', {
      enumerable: true,
      get: () => (reads++ === 0 ? 'planned' : 'completed'),
    });
    expect(RecoveryCheckpoint.fromDict(shifting).phase).toBe('planned');
    expect(reads).toBe(1);
  });
});

describe('types that lie', () => {
  const input = checkpoint as RecoveryCheckpointInput;
  it.each<readonly [string, object]>([
    ['workflow_id: invalid_workflow_id', { workflowId: ['workflow:example.org/booking'] }],
    ['kind: wrong_kind', { workflowId: 'tool:example.org/booking' }],
    ['run_id: invalid_run_id', { runId: null }],
    ['run_id: invalid_identifier', { runId: `${checkpoint.runId}\n` }],
    ['phase: unknown_phase', { phase: 'Planned' }],
    ['phase: unknown_phase', { phase: ['planned'] }],
    ['sequence: invalid_non_negative_integer', { sequence: 0 }],
    ['sequence: invalid_non_negative_integer', { sequence: '0' }],
    ['plan_digest: invalid_digest', { planDigest: { toString: () => checkpoint.planDigest } }],
    ['plan_digest: invalid_digest', { planDigest: `${checkpoint.planDigest}\n` }],
    ['recovery_evidence_digest: invalid_digest', { recoveryEvidenceDigest: '' }],
  ])('%s', (text, fields) => {
    expect(refusalOf(() => RecoveryCheckpoint.create({ ...input, ...fields }))).toBe(text);
  });
});

describe('another realm', () => {
  it('its bytes are bytes', () => {
    const text = RecoveryCheckpoint.toJson(checkpoint);
    const foreign = runInNewContext('(text) => Uint8Array.from(text, (c) => c.charCodeAt(0))') as (
      text: string,
    ) => Uint8Array;
    expect(foreign(text) instanceof Uint8Array).toBe(false);
    expect(RecoveryCheckpoint.fromJson(foreign(text)).checkpointDigest).toBe(checkpoint.checkpointDigest);
    expect(sha256Hex(foreign('abc'))).toBe(sha256Hex('abc'));
    expect(sha256Hex(Buffer.from('xabcx').subarray(1, 4))).toBe(sha256Hex('abc'));
  });

  it('its objects are objects', () => {
    const foreign = runInNewContext('(entries) => Object.fromEntries(entries)') as (entries: unknown) => object;
    expect(RecoveryCheckpoint.fromDict(foreign(Object.entries(dict)))).toEqual(checkpoint);
  });
});

describe('hashing', () => {
  it.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  ])('%j', (text, expected) => {
    expect(sha256Hex(text)).toBe(expected);
  });

  it('of a text is that of its UTF-8, short or long', () => {
    const edges = '\u0000\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}';
    for (const text of [
      edges,
      'é€😀',
      'x'.repeat(65_536),
      'x'.repeat(65_537),
      `${'x'.repeat(70_000)}é`,
      'é'.repeat(40_000),
    ]) {
      expect(sha256Hex(text)).toBe(sha256Hex(new TextEncoder().encode(text)));
    }
  });

  it('refuses a text that has no UTF-8, where an encoder would replace', () => {
    expect(refusalOf(() => sha256Hex('a\ud800'))).toBe('payload: invalid_payload');
    expect(refusalOf(() => sha256Hex('\udc00'.repeat(70_000)))).toBe('payload: invalid_payload');
    expect(refusalOf(() => sha256Hex([1] as unknown as Uint8Array))).toBe('payload: invalid_payload');
  });
});

it('no message ever holds what was read', () => {
  const secret = 'S3CRET';
  const texts = [
    `{"${secret}":1}`,
    `"${secret}"`,
    `{"a":"${secret}`,
    RecoveryCheckpoint.toJson(checkpoint).replace('"planned"', `"${secret}"`),
    RecoveryCheckpoint.toJson(checkpoint).replace('tool:example.org', secret),
  ];
  for (const text of texts) {
    const message = refusalOf(() => RecoveryCheckpoint.fromJson(text));
    expect(message).toMatch(/^[a-z_]+: [a-z_]+$/);
    expect(message).not.toContain(secret);
  }
  expect(refusalOf(() => EffectObservation.create({ actionId: secret } as EffectObservation))).not.toContain(secret);
});
