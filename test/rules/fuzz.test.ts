/**
 * Every reader of ours, fed with valid records that were damaged in their structure.
 *
 * Held here, over at least 100,000 inputs each (FUZZ_INPUTS for more):
 * - whatever is read, it is accepted or refused with a code; no other error, no hang, no deep recursion;
 * - what is accepted is written back as a text that reads back the same.
 */
import { describe, expect, it } from 'vitest';
import type { DriveResult } from '../../src/activities/contract';
import { parseRecord } from '../../src/rules/fields';
import { journalIdFromBytes, journalToText } from '../../src/rules/journal-record';
import { contentJson } from '../../src/rules/plans/content-json';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { openingCheckpoint, planFromRecord, planToRecord } from '../../src/rules/plans/plan';
import { canonicalJson } from '../../src/rules/recovery';
import { lineageFromBytes, lineageToText } from '../../src/rules/receipts/lineage-record';
import { heldReceipt, questionFromRecord, questionToRecord, type Question } from '../../src/rules/receipts/question';
import { resolutionFromBytes, resolutionToText } from '../../src/rules/receipts/resolution-record';
import { Refusal } from '../../src/rules/refusal';
import type { Ground } from '../../src/rules/sends/ground';
import { epochFromBytes, epochToText } from '../../src/rules/sends/epoch';
import { endFromBytes, endToText, slotFromBytes, slotToText } from '../../src/rules/sends/slot';
import {
  STEP_RESTS_ON,
  deriveNext,
  witnessFromBytes,
  witnessToRecord,
  witnessToText,
  type ProvenObservation,
  type Witness,
} from '../../src/rules/sends/witness';
import { ChainKeeper } from '../../src/workflows/chain-keeper';
import { fuzz, type Reader } from './damage';
import { APPROVER, AUDITOR, KEYS, approval, decided } from './receipts/support';
import { digest, owner, sendEnd, slotRecord } from './sends/support';

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

const requirement = {
  rules: [{ approvals: 2, roles: [APPROVER], deadline: { afterMs: 5, then: { escalate: AUDITOR } } }],
  requester: digest('a'),
};
const GROUNDS: readonly Ground[] = [
  { kind: 'approval', digest: digest('1'), expiresAt: 9, requirement },
  { kind: 'denial', code: 'rejected', receipt: digest('2'), key: digest('3'), requirement },
  { kind: 'resolution', receipt: digest('4') },
  { kind: 'opening', lineage: 2, receipt: digest('5') },
];
const STEPS = { approval: 'approved', denial: 'denied', resolution: 'cancelled', opening: 'opened' } as const;
const grounded = GROUNDS.map((ground): Reader => {
  const step = STEPS[ground.kind];
  const observations = STEP_RESTS_ON[step].observed ? witness.observations : [];
  const valid = plain(witnessToText({ ...witness, step, observations, ground }));
  return { name: `witness of ${ground.kind}`, valid, trip: (text) => witnessToText(witnessFromBytes(text)) };
});
const lineage = {
  lineage: 2,
  owner: owner('1'),
  from: { lineage: 1, sequence: 3, digest: digest('6') },
  receipt: digest('7'),
  openedAt: 5,
};
const resolution = {
  receipt: digest('8'),
  resolution: 'mark_absent',
  lineage: 1,
  epoch: 2,
  attempts: [{ actionId: `act_${'1'.repeat(32)}`, attempts: 3 }],
} as const;
const question: Question = {
  journalId: result.journal_id,
  runId: plan.runId,
  lineage: 1,
  planDigest: plan.planDigest,
  headDigest: opening.checkpointDigest,
  asksApproval: true,
  ...requirement,
  requesters: [digest('b')],
  resolutions: ['reobserve', 'abort'],
  doubtful: [`act_${'1'.repeat(32)}`],
  keys: KEYS,
  have: [heldReceipt(decided('ann', approval()))],
  deadlineMs: 5,
};

const READERS: readonly Reader[] = [
  ...grounded,
  { name: 'lineage', valid: plain(lineageToText(lineage)), trip: (text) => lineageToText(lineageFromBytes(text)) },
  {
    name: 'resolution',
    valid: plain(resolutionToText(resolution)),
    trip: (text) => resolutionToText(resolutionFromBytes(text)),
  },
  {
    name: 'question',
    valid: questionToRecord(question),
    trip: (text) => canonicalJson(questionToRecord(parseRecord(text, 'question', questionFromRecord))),
  },
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
        lineages: [[opening.checkpointDigest]],
      });
      keeper.accept(JSON.parse(text) as DriveResult);
      return canonicalJson(keeper.lineages.map((digests) => [...digests]));
    },
  },
  { name: 'content', valid: draft, trip: (_text, value) => contentJson(value) },
];

const ODD = [digest('0'), owner('0'), witness.checkpointDigest, opening.checkpointDigest, plan.runId];

describe.each(READERS)('the reader of a $name', (reader) => fuzz(reader, ODD));

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
