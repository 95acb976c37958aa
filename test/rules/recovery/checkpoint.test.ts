/**
 * A checkpoint is valid or does not exist.
 *
 * Held here:
 * - written and read again, by text or by fields, it is the same checkpoint, byte for byte;
 * - whatever single field of its record changes, reading refuses; made anew with the change, its digest is another;
 * - reading beside a known checkpoint never changes the answer, only spares work;
 * - the idempotency key depends on who acts with what, and not on place, approval or compensation.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  deriveIdempotencyKey,
  EffectRecord,
  isCanonicalCheckpoint,
  parseJson,
  RecoveryCheckpoint,
  RecoveryError,
  type JsonObject,
  type JsonValue,
} from '../../../src/rules/recovery';
import { anyOpenCheckpoint, makeCheckpoint, makeEffect, RUN_ID, runIdOf, refusalOf, toText } from './support';

/** Values that no field, or another field than the one they replace, holds. */
const replacements: readonly JsonValue[] = [
  null,
  true,
  false,
  0n,
  1n,
  -1n,
  2n ** 63n,
  1.5,
  '',
  'x',
  [],
  {},
  'pending',
  'committed',
  'planned',
  'aborted',
  'none',
  `sha256:${'0'.repeat(64)}`,
  `idem_${'0'.repeat(64)}`,
  `act_${'0'.repeat(32)}`,
  `run_${'0'.repeat(32)}`,
  'tool:example.org/other',
  'workflow:example.org/other@1.0.0',
  'openmed.agent.recovery_checkpoint.v2',
];

describe('a trip through its text', () => {
  it('keeps every byte', () => {
    fc.assert(
      fc.property(anyOpenCheckpoint, (checkpoint) => {
        const text = RecoveryCheckpoint.toJson(checkpoint);
        const again = RecoveryCheckpoint.fromJson(text);
        expect(again).toEqual(checkpoint);
        expect(RecoveryCheckpoint.toJson(again)).toBe(text);
        expect(canonicalJson(RecoveryCheckpoint.toDict(checkpoint))).toBe(text);
        expect(RecoveryCheckpoint.fromDict(RecoveryCheckpoint.toDict(checkpoint))).toEqual(checkpoint);
        expect(RecoveryCheckpoint.create(checkpoint)).toEqual(checkpoint);
      }),
    );
  });

  it('accepts another spelling of the same values, and can tell it from the canonical one', () => {
    const checkpoint = makeCheckpoint();
    const text = RecoveryCheckpoint.toJson(checkpoint);
    const spaced = `\n${text.replaceAll(':', ' : ').replaceAll(',', ' ,\t')}\n`.replaceAll(
      /(sha256|tool|workflow) : /g,
      '$1:',
    );
    for (const source of [text, new TextEncoder().encode(text)]) {
      expect(isCanonicalCheckpoint(source, RecoveryCheckpoint.fromJson(source))).toBe(true);
    }
    for (const source of [spaced, new TextEncoder().encode(spaced), new TextEncoder().encode(`${text}\n`)]) {
      const again = RecoveryCheckpoint.fromJson(source);
      expect(again.checkpointDigest).toBe(checkpoint.checkpointDigest);
      expect(isCanonicalCheckpoint(source, again)).toBe(false);
    }
  });
});

describe('one changed field', () => {
  const paths = (checkpoint: RecoveryCheckpoint): (readonly (string | number)[])[] => {
    const dict = RecoveryCheckpoint.toDict(checkpoint);
    const inEffects = checkpoint.effects.flatMap((effect, index) =>
      Object.keys(EffectRecord.toDict(effect)).map((field) => ['effects', index, field]),
    );
    return [...Object.keys(dict).map((field) => [field]), ...inEffects];
  };

  it('is refused, whatever it is changed to', () => {
    fc.assert(
      fc.property(anyOpenCheckpoint, fc.nat(), fc.constantFrom(...replacements), (checkpoint, pick, value) => {
        const path = paths(checkpoint)[pick % paths(checkpoint).length] as readonly (string | number)[];
        const dict = RecoveryCheckpoint.toDict(checkpoint);
        const changed = replaceAt(dict, path, value);
        fc.pre(canonicalJsonOrNull(changed) !== canonicalJson(dict));
        expect(() => RecoveryCheckpoint.fromDict(changed)).toThrow(RecoveryError);
        expect(() => RecoveryCheckpoint.fromJson(toText(changed))).toThrow(RecoveryError);
        expect(() => RecoveryCheckpoint.fromJson(toText(changed), { known: checkpoint })).toThrow(RecoveryError);
      }),
    );
  });

  it('gives another digest when the checkpoint is made anew', () => {
    fc.assert(
      fc.property(anyOpenCheckpoint, anyOpenCheckpoint, fc.nat(), (checkpoint, other, pick) => {
        const fields = Object.keys(checkpoint).filter((field) => field !== 'checkpointDigest');
        const field = fields[pick % fields.length] as keyof RecoveryCheckpoint;
        const changed = { ...checkpoint, [field]: other[field] };
        fc.pre(String(changed[field]) !== String(checkpoint[field]));
        try {
          expect(RecoveryCheckpoint.create(changed).checkpointDigest).not.toBe(checkpoint.checkpointDigest);
        } catch (fault) {
          if (!(fault instanceof RecoveryError)) throw fault;
        }
      }),
    );
  });

  it('of the effects too: a missing or extra field is refused by name', () => {
    const dict = RecoveryCheckpoint.toDict(makeCheckpoint());
    for (const field of Object.keys(dict)) {
      const { [field]: _, ...rest } = dict;
      expect(refusalOf(() => RecoveryCheckpoint.fromDict(rest))).toBe('checkpoint: missing_field');
      expect(refusalOf(() => RecoveryCheckpoint.fromDict({ ...rest, [`${field}x`]: 1n }))).toBe(
        'checkpoint: unknown_field',
      );
    }
    const effect = EffectRecord.toDict(makeEffect(0));
    for (const field of Object.keys(effect)) {
      const { [field]: _, ...rest } = effect;
      expect(refusalOf(() => EffectRecord.fromDict(rest))).toBe('effect: missing_field');
    }
  });
});

describe('reading beside a known checkpoint', () => {
  it('gives the same answer, and shares the effects that did not change', () => {
    fc.assert(
      fc.property(anyOpenCheckpoint, anyOpenCheckpoint, (checkpoint, known) => {
        const text = RecoveryCheckpoint.toJson(checkpoint);
        expect(RecoveryCheckpoint.fromJson(text, { known })).toEqual(checkpoint);
        const beside = RecoveryCheckpoint.fromJson(text, { known: checkpoint });
        expect(beside.effects.every((effect, index) => effect === checkpoint.effects[index])).toBe(true);
      }),
    );
  });

  it('does not lend a key to another run', () => {
    const known = makeCheckpoint();
    const dict = { ...RecoveryCheckpoint.toDict(known), run_id: runIdOf('another') };
    expect(refusalOf(() => RecoveryCheckpoint.fromDict(dict, { known }))).toBe('effects: idempotency_key_mismatch');
    expect(refusalOf(() => RecoveryCheckpoint.create({ ...known, runId: runIdOf('another') }))).toBe(
      'effects: idempotency_key_mismatch',
    );
  });
});

describe('the idempotency key', () => {
  const identity = { ...makeEffect(0), runId: RUN_ID };
  it('changes with every part of the identity', () => {
    const others = {
      runId: runIdOf('other'),
      actionId: makeEffect(1).actionId,
      toolId: 'tool:example.org/reserve@1.0.1',
      kind: 'omop_batch' as const,
      operationDigest: makeEffect(1).operationDigest,
    };
    const keys = Object.entries(others).map(([field, value]) => deriveIdempotencyKey({ ...identity, [field]: value }));
    expect(new Set([identity.idempotencyKey, ...keys]).size).toBe(6);
  });

  it('does not change with place, approval or compensation', () => {
    const other = makeEffect(0, { ordinal: 7n, approvalRequired: true, compensationLimit: 'propose_only' });
    expect(other.idempotencyKey).toBe(identity.idempotencyKey);
  });
});

describe('a parsed record', () => {
  it('holds integers as bigint: a number is refused', () => {
    const dict = RecoveryCheckpoint.toDict(makeCheckpoint());
    expect(refusalOf(() => RecoveryCheckpoint.fromDict({ ...dict, sequence: 0 }))).toBe(
      'sequence: invalid_non_negative_integer',
    );
    expect(RecoveryCheckpoint.fromDict(parseJson(toText(dict), 'checkpoint')).sequence).toBe(0n);
  });
});

function replaceAt(value: JsonValue, path: readonly (string | number)[], replacement: JsonValue): JsonValue {
  const [step, ...rest] = path;
  if (step === undefined) return replacement;
  if (Array.isArray(value))
    return value.map((item, index) => (index === step ? replaceAt(item, rest, replacement) : item));
  const object = value as JsonObject;
  return { ...object, [step]: replaceAt(object[step] as JsonValue, rest, replacement) };
}

function canonicalJsonOrNull(value: JsonValue): string | null {
  try {
    return canonicalJson(value);
  } catch {
    return null;
  }
}
