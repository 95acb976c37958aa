/**
 * Every reader of ours, fed with valid records that were damaged in their structure.
 *
 * Held here, over at least 100,000 inputs each (FUZZ_INPUTS for more):
 * - whatever is read, it is accepted or refused with a code; no other error, no hang, no deep recursion;
 * - what is accepted is written back as a text that reads back the same.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DriveResult } from '../../src/activities/contract';
import { parseRecord } from '../../src/rules/fields';
import { journalIdFromBytes, journalToText } from '../../src/rules/journal-record';
import { contentJson } from '../../src/rules/plans/content-json';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { openingCheckpoint, planFromRecord, planToRecord } from '../../src/rules/plans/plan';
import { RecoveryError, canonicalJson } from '../../src/rules/recovery';
import { Refusal } from '../../src/rules/refusal';
import { epochFromBytes, epochToText } from '../../src/rules/sends/epoch';
import { endFromBytes, endToText, slotFromBytes, slotToText } from '../../src/rules/sends/slot';
import {
  deriveNext,
  witnessFromBytes,
  witnessToRecord,
  witnessToText,
  type ProvenObservation,
  type Witness,
} from '../../src/rules/sends/witness';
import { ChainKeeper } from '../../src/workflows/chain-keeper';
import { digest, owner, sendEnd, slotRecord } from './sends/support';

const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? 100_000);

const draft = {
  workflow_id: 'workflow:example.org/fuzz',
  name: 'n',
  order: 'independent',
  effects: [0, 1].map((index) => ({
    id: `e${index}`,
    tool_id: 'tool:example.org/a@1.0.0',
    kind: 'local_tool',
    operation: { index, deep: [{ half: 0.5 }] },
    approval_required: false,
    compensation_limit: 'none',
  })),
};
const { plan } = planFromDraft(draftFromJson(draft), 'ab'.repeat(32));
const opening = openingCheckpoint(plan);
const step = (observations: readonly ProvenObservation[]): Witness => {
  const body = { step: 'advance' as const, now: 1, observations, refusal: null };
  return { ...body, checkpointDigest: deriveNext(opening, body).checkpoint.checkpointDigest };
};
const witness = step([
  { state: 'absent', proof: 'never_begun' },
  { state: 'committed', proof: 'looked_up', evidence: digest('e') },
]);
const result: DriveResult = {
  status: 'waiting',
  ms: 5,
  pending: [[0, 1]],
  journal_id: `jrn_${'0'.repeat(32)}`,
  epoch: 1,
  head: { sequence: 1, digest: witness.checkpointDigest },
  replayed: false,
  steps: [witnessToRecord(witness)],
};
const plain = (text: string): unknown => JSON.parse(text) as unknown;
const refusal = { ...witness, step: 'refused' as const, refusal: { ordinal: 1, code: 'invalid' } };
const epoch = { epoch: 1, owner: owner('1'), driver: digest('1'), lineage: 1, scheduledAt: 5 };

const fresh = Object.assign(new ChainKeeper(planToRecord(plan), null), { head: opening });

interface Reader {
  readonly name: string;
  readonly valid: unknown;
  /** Reads, and gives what was read as text again; `text` is what the mutated value is as JSON. */
  readonly trip: (text: string, value: unknown) => string;
}
const READERS: readonly Reader[] = [
  { name: 'slot', valid: plain(slotToText(slotRecord)), trip: (text) => slotToText(slotFromBytes(text)) },
  { name: 'end', valid: plain(endToText(sendEnd)), trip: (text) => endToText(endFromBytes(text)) },
  { name: 'epoch', valid: plain(epochToText(epoch)), trip: (text) => epochToText(epochFromBytes(text)) },
  { name: 'witness', valid: plain(witnessToText(refusal)), trip: (text) => witnessToText(witnessFromBytes(text)) },
  {
    name: 'journal',
    valid: plain(journalToText('0'.repeat(32))),
    trip: (text) => journalToText(journalIdFromBytes(text).slice(4)),
  },
  {
    name: 'plan',
    valid: planToRecord(plan),
    trip: (text) => canonicalJson(planToRecord(parseRecord(text, 'plan', planFromRecord))),
  },
  {
    name: 'draft',
    valid: draft,
    trip: (text, value) => {
      const read = draftFromJson(value);
      // Nothing that reads as a draft may fail later for another reason than its size or a value that JSON cannot carry.
      if (text.length % 50 === 0) planFromDraft(read, 'ab'.repeat(32));
      return contentJson(read);
    },
  },
  {
    name: 'drive result',
    valid: result,
    trip: (text) => {
      // As new, without reading the plan again each time.
      const keeper = Object.assign(Object.create(ChainKeeper.prototype) as ChainKeeper, fresh, {
        digests: [opening.checkpointDigest],
      });
      keeper.accept(JSON.parse(text) as DriveResult);
      return canonicalJson([...keeper.digests]);
    },
  },
  { name: 'content', valid: draft, trip: (_text, value) => contentJson(value) },
];

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 0.5, 1e300, 2 ** 53, '', [], {}, 'run_', 'x'.repeat(70), '\ud800', [
    [[[]]],
  ]),
  fc.constantFrom<unknown>('absent', 'committed', 'ambiguous', 'changed', 'cancelled', 'refused', 'advance', 'acked'),
  fc.constantFrom<unknown>(digest('0'), owner('0'), witness.checkpointDigest, opening.checkpointDigest, plan.runId),
  fc.integer(),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
type Cut = readonly [where: number, how: number, what: unknown, name: string];
const cuts = fc.array(
  fc.tuple(
    fc.nat(60),
    fc.nat(7),
    odd,
    fc.oneof(fc.constantFrom('__proto__', 'toString', 'state'), fc.string({ maxLength: 8 })),
  ),
  { minLength: 1, maxLength: 3 },
);

/** Damages one place of a value: puts something else there, drops it, doubles it, adds to it, or takes from it. */
function damaged(value: unknown, [where, how, what, name]: Cut): unknown {
  const copy = structuredClone(value);
  const places: [Record<string, unknown>, string][] = [];
  const walk = (at: unknown): void => {
    if (typeof at !== 'object' || at === null) return;
    for (const key of Object.keys(at)) {
      places.push([at as Record<string, unknown>, key]);
      walk((at as Record<string, unknown>)[key]);
    }
  };
  walk(copy);
  if (places.length === 0) return what;
  const [holder, key] = places[where % places.length] as [Record<string, unknown>, string];
  const old = holder[key];
  switch (how) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      break;
    case 1:
      if (Array.isArray(holder)) holder.push(structuredClone(old));
      else Object.defineProperty(holder, name, { value: what, enumerable: true, configurable: true, writable: true });
      break;
    case 2:
      if (typeof old === 'string')
        holder[key] = old.slice(0, where % (old.length + 1)) + name + old.slice(where % (old.length + 1));
      else holder[key] = what;
      break;
    case 3:
      holder[key] = typeof old === 'string' ? old.slice(1) : [old];
      break;
    case 4:
      holder[key] = typeof old === 'number' ? old + where : { [name]: old };
      break;
    default:
      holder[key] = what;
  }
  return copy;
}

describe.each(READERS)('the reader of a $name', ({ valid, trip }) => {
  it('accepts or refuses, and nothing else', { timeout: 3_600_000 }, () => {
    const seen = { accepted: 0, refused: 0 };
    expect(() => trip(JSON.stringify(valid), valid)).not.toThrow();
    fc.assert(
      fc.property(cuts, fc.nat(40), (several, slice) => {
        const value = several.reduce(damaged, valid);
        const whole = JSON.stringify(value);
        // Now and then the text itself is cut as well.
        const text = slice === 0 ? whole.slice(0, Math.floor(whole.length / 2)) : whole;
        let first: string;
        try {
          first = trip(text, value);
        } catch (fault) {
          seen.refused += 1;
          if (fault instanceof Refusal || fault instanceof RecoveryError || fault instanceof SyntaxError) return;
          throw fault;
        }
        seen.accepted += 1;
        // What reads only its own text must read what it wrote.
        if (first.startsWith('{"') && trip(whole, value) !== first) throw new Error('has two texts');
      }),
      { numRuns: INPUTS, seed: 7, endOnFailure: true },
    );
    expect(seen.refused + seen.accepted).toBe(INPUTS);
    expect(seen.accepted).toBeGreaterThan(0);
  });
});

describe('contentJson', () => {
  it.each<[string, unknown]>([
    ['a hole in a list', Object.assign(new Array<number>(2), { 1: 1 })],
    ['undefined', { a: undefined }],
    ['a date', new Date(0)],
    ['a bigint', 1n],
    ['NaN', [NaN]],
    ['a map', new Map()],
    ['a function', { a: () => 1 }],
  ])('refuses %s', (_what, value) => {
    expect(() => contentJson(value)).toThrow(Refusal);
  });

  it('refuses a cycle, and what is nested too deeply, without running out of stack', () => {
    const cycle: Record<string, unknown> = {};
    cycle['again'] = [cycle, cycle];
    expect(() => contentJson(cycle)).toThrow(Refusal);
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(() => contentJson(deep)).toThrow(Refusal);
  });
});
