/**
 * Half a million damaged inputs, from a fixed seed.
 *
 * Held here, for every parser of the contract:
 * - it answers with a record or with a `RecoveryError`, never with another error, and it always answers;
 * - what it accepts says the same when it is written and read again;
 * - the JSON reader accepts what JSON.parse accepts, with the few differences of the contract;
 * - damage is varied enough to reach every stage: many different refusals, and some acceptances.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  canonicalJson,
  EffectRecord,
  JournalRetirementPlan,
  parseGovernedId,
  parseJson,
  RecoveryCheckpoint,
  RecoveryDecision,
  RecoveryError,
  RetiredJournalRecord,
  sha256Digest,
  type JsonObject,
  type JsonValue,
  type RecoveryDecisionInput,
} from '../../../src/rules/recovery';
import { COMMITTED, digest, makeCheckpoint, makeEffect, makeEffects, makeSuccessor, RECEIPT, toText } from './support';

const ROUNDS = 100_000;

/** A small generator of numbers: the same inputs on every run. */
class Dice {
  constructor(private state: number) {}
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

const TOKENS = [
  'null', 'true', 'false', '0', '-0', '1', '-1', '1.0', '1e5', '9223372036854775807', '9223372036854775808', 'NaN', '-Infinity', '"', '\\', '\\u0000',
  '\\ud800', '"x"', '{', '}', '[', ']', ',', ':', ' ', '\n', '\t', '\u0000', '\ufeff', '{}', '[]', '{"a":1,"a":1}', '"a":1,', '01', '+1', 'é', '\u007f',
] as const; // prettier-ignore
const VALUES: readonly JsonValue[] = [
  null, true, false, 0n, 1n, -1n, 2n ** 63n - 1n, 2n ** 63n, 0.5, '', 'x', [], {}, [null], digest('x'), `idem_${'0'.repeat(64)}`, 'planned', 'aborted',
  'completed', 'reconciling', 'dispatching', 'committed', 'pending', 'none', 'propose_only', 'tool:a.b/c', 'fhir_write', 'openmed.agent.retired_journal.v1',
]; // prettier-ignore

/** Damages a text: replaces, removes, repeats or inserts a piece. */
function damageText(dice: Dice, text: string): string {
  let damaged = text;
  for (let times = 1 + dice.below(3); times > 0; times -= 1) {
    const from = dice.below(damaged.length + 1);
    const to = Math.min(damaged.length, from + dice.below(dice.pick([2, 8, 80])));
    const piece = dice.pick([
      () => '',
      () => dice.pick(TOKENS),
      () => String.fromCharCode(dice.below(0x80)),
      () => damaged.slice(from, to).repeat(2),
      () => damaged.slice(dice.below(damaged.length + 1)).slice(0, 40),
    ])();
    damaged = damaged.slice(0, from) + piece + damaged.slice(to);
  }
  return dice.below(20) === 0 ? damaged.slice(0, dice.below(damaged.length + 1)) : damaged;
}

/** Bytes that need not be a text. */
function damageBytes(dice: Dice, text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  for (let times = 1 + dice.below(3); times > 0; times -= 1) bytes[dice.below(bytes.length)] = dice.below(256);
  return bytes.subarray(dice.below(20) === 0 ? dice.below(5) : 0);
}

/** Damages a record: another value, a field less or more, items moved, doubled or dropped, at any depth. */
function damageValue(dice: Dice, value: JsonValue): JsonValue {
  if (Array.isArray(value) && value.length > 0 && dice.below(10) > 0) {
    const index = dice.below(value.length);
    return dice.pick<() => JsonValue>([
      () => value.map((item: JsonValue, at) => (at === index ? damageValue(dice, item) : item)),
      () => value.filter((_, at) => at !== index),
      () => [...value, value[index] as JsonValue],
      () => [...value].reverse(),
    ])();
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && dice.below(20) > 0) {
    const object = value as JsonObject;
    const field = dice.pick(Object.keys(object));
    if (dice.below(12) === 0) return Object.fromEntries(Object.entries(object).filter(([name]) => name !== field));
    if (dice.below(12) === 0) return { ...object, [`${field}x`]: dice.pick(VALUES) };
    if (dice.below(6) === 0) return { ...object, [field]: object[dice.pick(Object.keys(object))] as JsonValue };
    return { ...object, [field]: damageValue(dice, object[field] as JsonValue) };
  }
  return dice.pick(VALUES);
}

/** Gives a damaged record the digest that fits it, so that the damage gets past the last check. */
function reseal(value: JsonValue, field: string): JsonValue {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { [field]: _, ...rest } = value as JsonObject;
  try {
    return { ...rest, [field]: sha256Digest(canonicalJson(rest)) };
  } catch {
    return value;
  }
}

/** `expect` would take longer than the parsers. */
function same(actual: unknown, expected: unknown): void {
  if (!Object.is(actual, expected)) expect(actual).toBe(expected);
}

/** Runs the parser on every input and counts its answers. Any other outcome fails at once. */
function survey<T>(inputs: Iterable<() => T>, holds: (accepted: T) => void): Map<string, number> {
  const answers = new Map<string, number>();
  for (const run of inputs) {
    let answer = 'accepted';
    let accepted: T | undefined;
    try {
      accepted = run();
    } catch (fault) {
      if (!(fault instanceof RecoveryError)) throw fault;
      answer = fault.message;
    }
    if (accepted !== undefined) holds(accepted);
    answers.set(answer, (answers.get(answer) ?? 0) + 1);
  }
  return answers;
}

function* rounds<T>(seed: number, make: (dice: Dice) => () => T): Generator<() => T> {
  const dice = new Dice(seed);
  for (let round = 0; round < ROUNDS; round += 1) yield make(dice);
}

const start = makeCheckpoint();
const approved = makeCheckpoint({
  ...RECEIPT,
  phase: 'dispatching',
  effects: [makeEffect(0, COMMITTED), makeEffect(1, { approvalRequired: true, compensationLimit: 'propose_only' })],
});
const finished = makeCheckpoint({ phase: 'completed', effects: makeEffects(1, COMMITTED) });
const checkpoints = [start, makeSuccessor(start), approved, finished];

// Half a million refusals need no stacks.
const { stackTraceLimit } = Error;
beforeAll(() => void (Error.stackTraceLimit = 0));
afterAll(() => void (Error.stackTraceLimit = stackTraceLimit));

describe('damaged', { timeout: 600_000 }, () => {
  it('checkpoints', () => {
    const dicts = checkpoints.map((checkpoint) => RecoveryCheckpoint.toDict(checkpoint));
    const texts = checkpoints.map((checkpoint) => RecoveryCheckpoint.toJson(checkpoint));
    const answers = survey(
      rounds(1, (dice) => {
        const source = dice.pick<() => string | Uint8Array>([
          () => damageText(dice, dice.pick(texts)),
          () => damageBytes(dice, dice.pick(texts)),
          () => toText(damageValue(dice, dice.pick(dicts))),
          () => toText(reseal(damageValue(dice, dice.pick(dicts)), 'checkpoint_digest')),
          () => toText(reseal(damageValue(dice, damageValue(dice, dice.pick(dicts))), 'checkpoint_digest')),
        ])();
        const known = dice.below(2) === 0 ? dice.pick(checkpoints) : null;
        return () => RecoveryCheckpoint.fromJson(source, { known });
      }),
      (accepted) => {
        const again = RecoveryCheckpoint.fromJson(RecoveryCheckpoint.toJson(accepted));
        same(again.checkpointDigest, accepted.checkpointDigest);
      },
    );
    expect(answers.size).toBeGreaterThan(35);
    expect(answers.get('accepted')).toBeGreaterThan(100);
  });

  it('effects', () => {
    const dicts = approved.effects.map((effect) => EffectRecord.toDict(effect));
    const answers = survey(
      rounds(2, (dice) => {
        const value = damageValue(dice, dice.pick(dicts));
        return () => EffectRecord.fromDict(value);
      }),
      (accepted) => {
        const dict = EffectRecord.toDict(accepted);
        same(canonicalJson(EffectRecord.toDict(EffectRecord.fromDict(dict))), canonicalJson(dict));
      },
    );
    expect(answers.size).toBeGreaterThan(10);
    expect(answers.get('accepted')).toBeGreaterThan(100);
  });

  const record = RetiredJournalRecord.create({
    finalCheckpointDigest: finished.checkpointDigest,
    recoveryEvidenceDigest: digest('evidence'),
    checkpointRecoveryEvidenceDigest: null,
    phase: 'completed',
    checkpointCount: 1n,
    effectCount: 1n,
    committedEffectCount: 1n,
  });

  it('retired records', () => {
    const [text, dict] = [RetiredJournalRecord.toJson(record), RetiredJournalRecord.toDict(record)];
    const answers = survey(
      rounds(3, (dice) => {
        const source = dice.pick<() => string | Uint8Array>([
          () => damageText(dice, text),
          () => damageBytes(dice, text),
          () => toText(damageValue(dice, dict)),
          () => toText(reseal(damageValue(dice, dict), 'record_digest')),
        ])();
        return () => RetiredJournalRecord.fromJson(source);
      }),
      (accepted) => {
        const again = RetiredJournalRecord.fromJson(RetiredJournalRecord.toJson(accepted));
        same(again.recordDigest, accepted.recordDigest);
      },
    );
    expect(answers.size).toBeGreaterThan(15);
    expect(answers.get('accepted')).toBeGreaterThan(100);
  });

  it('retirement plans', () => {
    const plan = JournalRetirementPlan.create({
      record,
      minimumAgeSeconds: 60n,
      terminalMtimeNs: 5n,
      checkpointDigests: [finished.checkpointDigest],
      plannedAt: 100n,
      journalBinding: digest('folder'),
    });
    const [text, dict] = [JournalRetirementPlan.toJson(plan), JournalRetirementPlan.toDict(plan)];
    const answers = survey(
      rounds(4, (dice) => {
        const source = dice.pick<() => string | Uint8Array>([
          () => damageText(dice, text),
          () => damageBytes(dice, text),
          () => toText(reseal(damageValue(dice, dict), 'plan_digest')),
        ])();
        return () => JournalRetirementPlan.fromJson(source);
      }),
      (accepted) => {
        const again = JournalRetirementPlan.fromJson(JournalRetirementPlan.toJson(accepted));
        same(again.planDigest, accepted.planDigest);
      },
    );
    expect(answers.size).toBeGreaterThan(20);
    expect(answers.get('accepted')).toBeGreaterThan(100);
  });

  it('decisions', () => {
    const resume: RecoveryDecisionInput = {
      disposition: 'resume',
      reason: 'safe_to_resume',
      sourceCheckpointDigest: approved.checkpointDigest,
      retryEffectIds: approved.effects.map(({ actionId }) => actionId),
      retryIdempotencyKeys: approved.effects.map(({ idempotencyKey }) => idempotencyKey),
      committedEffects: [{ actionId: makeEffect(0).actionId, commitEvidenceDigest: digest('found') }],
      compensationEffectIds: [],
    };
    const review: RecoveryDecisionInput = {
      ...resume,
      disposition: 'review_required',
      reason: 'ambiguous_effect',
      retryEffectIds: [],
      retryIdempotencyKeys: [],
      compensationEffectIds: [makeEffect(0).actionId],
    };
    const answers = survey(
      rounds(5, (dice) => {
        const input = damageValue(dice, dice.pick([resume, review]) as unknown as JsonObject);
        return () => RecoveryDecision.create(Object(input) as RecoveryDecisionInput);
      }),
      (accepted) => {
        same(RecoveryDecision.create(accepted).evidenceDigest, accepted.evidenceDigest);
        const { evidence_digest: claimed, ...rest } = parseJson(RecoveryDecision.toJson(accepted), 'x') as JsonObject;
        same(sha256Digest(canonicalJson(rest)), claimed);
      },
    );
    expect(answers.size).toBeGreaterThan(12);
    expect(answers.get('accepted')).toBeGreaterThan(100);
  });

  it('JSON texts, beside JSON.parse', () => {
    const texts = [
      '{"a":[1,-2.5e3,true,false,null,"x\\u0041\\n"],"b":{"c":[],"d":{}},"e":12345678901234567890}',
      '[[[["deep"]]],{"":0,"__proto__":{"x":1}}," \\\\ \\" "]',
      ' \n[ 1 , 2 , { "k" : "v" } ]\t',
    ];
    const answers = survey(
      rounds(6, (dice) => {
        const text = damageText(dice, dice.pick(texts));
        return () => readBeside(text);
      }),
      (value) => {
        if ([...floatsOf(value)].length > 0) return;
        const canonical = canonicalJson(value);
        same(canonicalJson(parseJson(canonical, 'x')), canonical);
      },
    );
    expect([...answers.keys()].sort()).toEqual(['accepted', 'json: duplicate_field', 'x: invalid_json']);
    expect(answers.get('accepted')).toBeGreaterThan(1000);
  });

  it('governed ids', () => {
    const ids = ['tool:example.org/reserve@1.0.0', 'workflow:a-b.c.d9/x-', 'policy:x.y/z@10.20.30'];
    const answers = survey(
      rounds(7, (dice) => {
        const text = damageText(dice, dice.pick(ids));
        const kind = dice.pick([undefined, 'tool', 'workflow'] as const);
        return () => ({ text, id: parseGovernedId(text, kind) });
      }),
      ({ text, id }) => {
        same(`${id.kind}:${id.namespace}/${id.local}${id.version === null ? '' : `@${id.version}`}`, text);
      },
    );
    expect(answers.size).toBeGreaterThanOrEqual(4);
    expect(answers.get('accepted')).toBeGreaterThan(1000);
  });
});

/** Reads a text, and fails when JSON.parse sees it otherwise than the contract allows. */
function readBeside(text: string): JsonValue {
  const expected = oracle(text);
  let value: JsonValue;
  try {
    value = parseJson(text, 'x');
  } catch (fault) {
    // Refused here and accepted there: only a repeated key may be the reason.
    if (expected !== null) same((fault as RecoveryError).code, 'duplicate_field');
    throw fault;
  }
  // Accepted here and refused there: only the words for what is no number may be the reason.
  if (expected === null) same(/NaN|Infinity/.test(text), true);
  else same(JSON.stringify(asNumbers(value)), expected);
  return value;
}

/** What JSON.parse makes of a text, spelled anew; `null` when it is no JSON. */
function oracle(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return null;
  }
}

function asNumbers(value: JsonValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(asNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asNumbers(item as JsonValue)]));
}

function* floatsOf(value: JsonValue): Generator<number> {
  if (typeof value === 'number') yield value;
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) yield* floatsOf(item);
}
