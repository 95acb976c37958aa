/**
 * Histories as streams: export and import.
 *
 * Held here:
 * - an export is imported whole, and the export of the import is byte-identical;
 * - each tampering of the specification is refused with its line, and so is every cut and every changed byte;
 * - a history has every record that its run came to, and in an order in which that could have happened;
 * - histories of rechecks come after those that they rest on.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signReceipt } from '../../../src/rules/receipts/jws';
import { toBase64url } from '../../../src/rules/receipts/base64url';
import { Refusal } from '../../../src/rules/refusal';
import { canonicalJson } from '../../../src/rules/recovery';
import { affirmationDigest, type Affirmation } from '../../../src/rules/verification/affirmation';
import { plannedJobs } from '../../../src/rules/verification/chain';
import type { LifecycleEvent, LifecycleType } from '../../../src/rules/verification/lifecycle-record';
import { LifecycleReader, exportOrder } from '../../../src/rules/verification/lifecycle-stream';
import { recheckIntentId } from '../../../src/rules/verification/sitting';
import {
  ANN,
  BOB,
  JOURNAL,
  KEYS,
  capture,
  digest,
  imported,
  job,
  keyOf,
  launchClaims,
  linesOf,
  proposal,
  runOf,
  signer,
  sittingId,
  storyOf,
  type Story,
} from './support';

const run = runOf(2, 2);
const sitting = { sittingId: sittingId(1), person: BOB, committedAt: 9_000, proposals: [proposal(1), proposal(2)] };
const source = storyOf(run, sitting.proposals);
const intentId = recheckIntentId({
  sittingId: sitting.sittingId,
  sourceRun: source.digest,
  proposals: sitting.proposals,
});
const affirmation: Affirmation = {
  intentId,
  sourceRun: source.digest,
  proposals: sitting.proposals,
  goalDigest: run.input.goalDigest,
  protectedIntentDigest: run.input.protectedIntentDigest,
  person: ANN,
  snapshot: { ...run.snapshot, captureId: capture(8) },
  capturedAt: 9_500,
};
const whole = storyOf(run, sitting.proposals, [
  { type: 'proposals_applied', sitting },
  { type: 'target_affirmed', affirmation },
]);
const recheck = storyOf({
  ...run,
  kind: 'recheck',
  snapshot: { ...run.snapshot, captureId: capture(9), targetDigest: digest('new target') },
  input: {
    ...run.input,
    recheck: {
      intentId,
      sourceRun: source.digest,
      proposals: sitting.proposals,
      affirmation: affirmationDigest(affirmation),
    },
  },
});
const stories = [whole, recheck];
const lines = linesOf(stories);
const few = linesOf([storyOf(runOf(1, 1), [proposal(1)])]);

const refusal = (all: readonly string[]): string => {
  try {
    imported(all);
  } catch (fault) {
    if (fault instanceof Refusal) return fault.message;
    throw fault;
  }
  return 'imported';
};

/** The stream with some events of the first run changed, and all chained and counted anew: only its meaning is wrong. */
const retold = (change: (events: LifecycleEvent[]) => LifecycleEvent[], told: readonly Story[] = [whole]): string[] =>
  linesOf(
    told.map((story, index) => (index === 0 ? { ...story, events: change(structuredClone(story.events)) } : story)),
  );
type Of<T extends LifecycleType> = Extract<LifecycleEvent, { readonly type: T }>;
/** Changes the event of a type that stands at a place among its like. */
const with_ = <T extends LifecycleType>(type: T, nth: number, change: (event: Of<T>) => Partial<Of<T>>): string[] =>
  retold((events) => {
    const places = events.flatMap((event, place) => (event.type === type ? [place] : []));
    const place = places[nth] as number;
    const event = events[place] as Of<T>;
    return events.map((one, index) => (index === place ? { ...event, ...change(event) } : one));
  });
const without = (type: LifecycleType, nth: number): string[] =>
  retold((events) => {
    const places = events.flatMap((event, place) => (event.type === type ? [place] : []));
    return events.filter((_event, place) => place !== places[nth]);
  });
const twice = (type: LifecycleType): string[] =>
  retold((events) => events.flatMap((one): LifecycleEvent[] => (one.type === type ? [one, one] : [one])));
const chain = plannedJobs(run);
const [first, second, coordinator] = chain as [(typeof chain)[0], (typeof chain)[0], (typeof chain)[0]];
const receipt = (more: Parameters<typeof launchClaims>[2], name = 'ann'): string[] =>
  with_('job_authorized', 0, () => ({
    token: signReceipt(launchClaims(run, first, more), signer(name)),
    key: keyOf(name),
  }));
/** A token that no door of ours would sign: its signature does not count any more when its claims are refused. */
const unsignable = (claims: object): string[] =>
  with_('job_authorized', 0, ({ token }) => {
    const [header, , signature] = token.split('.');
    const { kind: _kind, ...rest } = claims as { kind: string };
    const record = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [
        name.replace(/[A-Z]/g, (big) => `_${big.toLowerCase()}`),
        value as string,
      ]),
    );
    return { token: [header, toBase64url(Buffer.from(canonicalJson(record))), signature].join('.') };
  });
const line = (number: number, change: (text: string) => string): string[] =>
  lines.map((text, index) => (index === number - 1 ? change(text) : text));
const body = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

describe('an export', () => {
  it('is imported whole, and the export of the import is the same bytes', () => {
    const records = imported(lines);
    expect(records).toHaveLength(lines.length - 2);
    const runs = [...new Set(records.map(({ runId }) => runId))];
    const again = linesOf(
      runs.map((runId) => ({ runId, events: records.filter((one) => one.runId === runId).map(({ event }) => event) })),
    );
    expect(again.join('\n')).toBe(lines.join('\n'));
  });

  it('says how much it holds', () => {
    const reader = new LifecycleReader();
    for (const text of lines) reader.take(text);
    const { journalId, runs, counts, lastSequence } = reader.finish();
    expect({ journalId, runs, lastSequence }).toEqual({
      journalId: JOURNAL,
      runs: 2,
      lastSequence: recheck.events.length,
    });
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(lines.length - 2);
    expect(counts).toMatchObject({
      run_opened: 2,
      job_prepared: 6,
      job_authorized: 6,
      job_completed: 6,
      result_committed: 8,
    });
  });

  it('may be of nothing', () => {
    expect(imported(linesOf([]))).toEqual([]);
  });

  it('of any shape of run reads back', () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(3), fc.nat(2), (local, specialists, proposals) => {
        fc.pre(local + specialists > 0);
        const ids = Array.from({ length: proposals }, (_, index) => proposal(index + 1));
        const told = storyOf(runOf(local, specialists), ids);
        expect(imported(linesOf([told]))).toHaveLength(told.events.length);
      }),
      { numRuns: 12, seed: 7 },
    );
  });
});

/** Every line of the specification's list, and what is refused there. */
const TAMPERED: readonly (readonly [what: string, all: () => readonly string[], says: RegExp])[] = [
  ['duplicate keys', () => line(3, (text) => text.replace('{"body"', '{"body":{},"body"')), /line 3: .*unique field names/],
  ['a number that is not finite', () => line(2, (text) => text.replace('"sequence":1', '"sequence":NaN')), /line 2: record\.sequence must be a whole number/],
  ['an infinite number', () => line(2, (text) => text.replace('"sequence":1', '"sequence":1e999')), /line 2: /],
  ['a blank line', () => [...lines.slice(0, 4), '', ...lines.slice(4)], /line 5: is blank/],
  ['an unknown type', () => line(3, (text) => text.replace('"type":"result_committed"', '"type":"job_started"')), /line 3: record\.type must be one of/],
  ['a column more', () => line(3, (text) => text.replace('{"body"', '{"aside":1,"body"')), /line 3: record\.aside is not a field/],
  ['a column less', () => line(3, (text) => text.replace(/"previous":"[^"]*",/, '')), /line 3: record\.previous is missing/],
  ['a column of the body more', () => line(3, (text) => text.replace('{"body":{', '{"body":{"prose":"x",')), /line 3: record\.body\.prose is not a field/],
  ['a sequence out of order', () => [...lines.slice(0, 2), lines[3] as string, lines[2] as string, ...lines.slice(4)], /line 3: record\.sequence is out of order/],
  ['a record left out', () => [...lines.slice(0, 4), ...lines.slice(5)], /line 5: record\.sequence is out of order/],
  ['a record twice', () => [...lines.slice(0, 4), ...lines.slice(3)], /line 5: record\.sequence is out of order/],
  ['a digest that does not match', () => line(3, (text) => text.replace('"conforms"', '"departs"')), /line 3: record\.digest is not of the fields/],
  ['another chain', () => line(4, (text) => forged(text, { previous: digest('x') })), /line 4: record\.previous is not the digest/],
  ['a stream digest that does not match', () => line(lines.length, (text) => text.replace(/"digest":"sha256:.{4}/, '"digest":"sha256:0000')), /closing\.digest/],
  ['another count', () => line(lines.length, (text) => text.replace('"runs":2', '"runs":3')), /counts other records/],
  ['another last sequence', () => line(lines.length, (text) => text.replace(/"last_sequence":\d+/, '"last_sequence":1')), /counts other records/],
  ['a count of a type that is not there', () => line(lines.length, (text) => text.replace('"counts":{', '"counts":{"a":0,')), /closing\.counts\.a is not a field/],
  ['no closing line', () => lines.slice(0, -1), /no closing line/],
  ['a line behind the closing line', () => [...lines, lines[1] as string], /stands behind the closing line/],
  ['a text that is not canonical', () => line(3, (text) => text.replace('{"body"', '{ "body"')), /line 3: is not canonical/],
  ['no header', () => lines.slice(1), /line 1: /],
  ['nothing', () => [], /is empty/],
  ['a reference to a job that was not seen', () => with_('job_moved', 0, () => ({ jobId: job(7) })), /job_id was not seen before/],
  ['a reference to a run that was not seen', () => linesOf([recheck]), /source_run was not seen before/],
  ['a reference to an intent that was not seen', () => linesOf([source, recheck]), /intent_id was not seen before/],
  ['a reference to an affirmation that was not seen', () => linesOf([{ ...whole, events: whole.events.slice(0, -1) }, recheck]), /affirmation was not seen before/],
  ['a reference to a result that was not seen', () => with_('results_related', 0, ({ relation }) => ({ relation: { ...relation, from: digest('x') } })), /from is no result of this run/],
  ['a reference to a proposal that was not seen', () => with_('proposals_applied', 0, () => ({ sitting: { ...sitting, proposals: [proposal(9)] } })), /proposals were not seen/],
  ['a recheck of something that was not seen', () => with_('results_related', 0, ({ relation }) => ({ relation: { ...relation, kind: 'rechecks', to: digest('x') } })), /to was not seen before/],
  ['another cost ceiling', () => receipt({ costCeiling: 501 }), /cost_ceiling is for another cost ceiling/],
  ['a retry limit that is not 0', () => unsignable({ ...launchClaims(run, first), retryLimit: 1 }), /retry_limit must be 0/],
  ['an authorizer that is not human', () => unsignable({ ...launchClaims(run, first), authorizer: 'service' }), /authorizer must be one of human/],
  ['another provider', () => receipt({ provider: 'example.org/other' }), /provider is for another provider/],
  ['another model', () => receipt({ model: 'model-2' }), /model is for another model/],
  ['another context', () => receipt({ contextDigest: digest('x') }), /context_digest is for another context/],
  ['another content boundary', () => receipt({ contentBoundary: 'whole_context' }), /content_boundary is for another/],
  ['another snapshot', () => receipt({ snapshotDigest: digest('x') }), /snapshot_digest is for another/],
  ['another plan', () => receipt({ planDigest: digest('x') }), /plan_digest is for another plan/],
  ['a receipt of another job', () => receipt({ jobId: job(7) }), /job_id is for another job/],
  ['a receipt of another run', () => receipt({ runId: `run_${job(7)}` }), /run_id is for another run/],
  ['a receipt of another journal', () => receipt({ journalId: `jrn_${job(7)}` }), /for another journal/],
  ['a receipt of another person', () => receipt({}, 'bob'), /is of another person/],
  ['a receipt that nobody signed', () => with_('job_authorized', 0, ({ token }) => ({ token: `${token.slice(0, -8)}AAAAAAAA` })), /no valid signature/],
  ['a receipt of a key that nobody knows', () => with_('job_authorized', 0, ({ key }) => ({ key: { ...key, kid: 'key-zoe' } })), /is no key of a reviewer/],
  ['two receipts of one job', () => twice('job_authorized'), /has a receipt already/],
  ['a launch without a receipt', () => without('job_authorized', 0), /launched without a receipt/],
  ['another place in the sequence', () => with_('job_prepared', 0, ({ assignment }) => ({ assignment: assignment && { ...assignment, sequence: 2 } })), /assignment is not what the frozen plan/],
  ['another total', () => with_('job_prepared', 1, ({ assignment }) => ({ assignment: assignment && { ...assignment, total: 3 } })), /assignment is not what the frozen plan/],
  ['another check', () => with_('job_prepared', 0, ({ assignment }) => ({ assignment: assignment && { ...assignment, criterion: 'other' } })), /assignment is not what the frozen plan/],
  ['another parent', () => with_('job_prepared', 1, () => ({ parent: null })), /parent is not what the frozen plan/],
  ['another role', () => with_('job_prepared', 0, () => ({ role: 'coordinator' })), /role is not what the frozen plan/],
  ['a coordinator of another stage', () => with_('job_prepared', 2, () => ({ stage: null })), /stage is not what the frozen plan/],
  ['a specialist left out', () => retold((events) => events.filter((one) => !isOf(one, second.jobId))), /next was not seen before/],
  ['no reference to a result', () => with_('job_completed', 0, () => ({ results: [] })), /results must be all results/],
  ['a reference to another result', () => with_('job_completed', 0, () => ({ results: [digest('x')] })), /results must be all results/],
  ['a result left out', () => without('result_committed', 2), /results must be all results/],
  ['a result of its own checks left out', () => without('result_committed', 0), /comes before the checks of the process/],
  ['a result twice', () => twice('result_committed'), /result is there twice/],
  ['a result of another submission', () => with_('result_committed', 2, ({ result }) => ({ result: { ...result, submission: digest('x') } })), /is of another submission/],
  ['a result of another check', () => with_('result_committed', 2, ({ result }) => ({ result: { ...result, check: { ...result.check, criterion: 'x' } } })), /is not of the one check/],
  ['a last hand-off to nobody', () => with_('job_completed', 1, () => ({ next: null })), /next must be the initial coordinator/],
  ['a last hand-off to another specialist', () => with_('job_completed', 1, () => ({ next: first.jobId })), /next must be the initial coordinator/],
  ['a hand-off past a specialist', () => with_('job_completed', 0, () => ({ next: coordinator.jobId })), /next must be the job that the plan has next/],
  ['a job after the coordinator', () => with_('job_completed', 2, () => ({ next: first.jobId })), /next must be/],
  ['a move that no table names', () => with_('job_moved', 0, () => ({ to: 'running' })), /to is no move/],
  ['a move from elsewhere', () => with_('job_moved', 1, () => ({ from: 'prepared' })), /from is not where the job was/],
  ['a submission told as a move', () => with_('job_moved', 1, () => ({ to: 'submitted' })), /to is no move/],
  ['an end without a reason', () => with_('job_moved', 1, () => ({ to: 'unavailable' })), /to is no move/],
  ['a completion without a submission', () => without('job_submitted', 0), /is of a job that has not submitted/],
  ['two submissions', () => twice('job_submitted'), /from is no move/],
  ['a submission for another context', () => with_('job_submitted', 0, ({ submission }) => ({ submission: { ...submission, contextDigest: digest('x') } })), /is not the context of the job/],
  ['a successor before the submission', () => retold((events) => moved(events, 'job_prepared', 1, 'job_submitted', 0)), /follows a job that has not submitted/],
  ['a successor launched before its parent is completed', () => retold((events) => moved(events, 'job_moved', 2, 'job_completed', 0)), /launched before its turn/],
  ['a run that ends too early', () => retold((events) => [...events.slice(0, 9), { type: 'run_closed', outcome: 'completed' }]), /is not what its jobs came to/],
  ['a run that ends otherwise', () => with_('run_closed', 0, () => ({ outcome: 'incomplete' })), /is not what its jobs came to/],
  ['a run that does not end', () => retold((events) => events.slice(0, 12)), /does not end/],
  ['something behind the end', () => retold((events) => [...events, events[1] as LifecycleEvent]), /stands behind the end/],
  ['another run under the id', () => with_('run_opened', 0, () => ({ run: runOf(1, 2) })), /run_id does not follow from the run/],
  ['a run twice', () => linesOf([source, storyOf(runOf(1, 0)), source]), /run_id is there twice/],
  ['no opening', () => without('run_opened', 0), /must open the run/],
]; // prettier-ignore

function isOf(event: LifecycleEvent, jobId: string): boolean {
  if ('jobId' in event) return event.jobId === jobId;
  if (event.type === 'result_committed') return event.result.jobId === jobId;
  return event.type === 'job_submitted' && event.submission.jobId === jobId;
}
function moved(
  events: LifecycleEvent[],
  what: LifecycleType,
  nth: number,
  before: LifecycleType,
  at: number,
): LifecycleEvent[] {
  const place = (type: LifecycleType, which: number): number =>
    events.flatMap((event, index) => (event.type === type ? [index] : []))[which] as number;
  const event = events[place(what, nth)] as LifecycleEvent;
  const to = place(before, at);
  const rest = events.filter((one) => one !== event);
  return [...rest.slice(0, to), event, ...rest.slice(to)];
}
/** One field of a record changed, and its digest made anew. */
function forged(text: string, change: Record<string, string>): string {
  const { digest: _old, ...rest } = { ...body(text), ...change } as Record<string, string>;
  return canonicalJson({ ...rest, digest: digest(canonicalJson(rest)) });
}

describe('an import refuses', () => {
  it.each(TAMPERED)('%s', (_what, all, says) => {
    expect(refusal(all())).toMatch(says);
  });

  it('a stream that was cut anywhere', () => {
    for (let length = 0; length < lines.length; length += 1)
      expect(refusal(lines.slice(0, length))).not.toBe('imported');
  });

  it('any changed character, quoting nothing of it', () => {
    const all = few.length;
    fc.assert(
      fc.property(fc.nat(all - 1), fc.nat(4_000), fc.constantFrom('0', 'a', '"', ' ', '}', 'é'), (at, where, put) => {
        const text = few[at] as string;
        const place = where % text.length;
        const other = text.slice(0, place) + put + text.slice(place + 1);
        if (other === text) return;
        const said = refusal(few.map((one, index) => (index === at ? other : one)));
        if (said === 'imported') throw new Error(`took line ${at + 1}`);
        expect(said).toMatch(/^[^\n]{1,300}$/);
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});

describe('an end without a result', () => {
  const upTo = source.events.findIndex((one) => one.type === 'job_submitted');
  const lost: LifecycleEvent[] = [
    ...source.events.slice(0, upTo),
    {
      type: 'job_moved',
      jobId: first.jobId,
      from: 'running',
      to: 'unavailable',
      reason: 'launch_outcome_unknown',
      refusal: null,
    },
  ];
  it('is a history as well', () => {
    const events: LifecycleEvent[] = [...lost, { type: 'run_closed', outcome: 'incomplete' }];
    expect(imported(linesOf([{ ...source, events }]))).toHaveLength(events.length);
  });

  it.each<[string, LifecycleEvent]>([
    ['a second child', { type: 'job_prepared', jobId: second.jobId, role: 'specialist', parent: first.jobId, stage: null, assignment: second.assignment, contextDigest: digest('c') }],
    ['another launch', { type: 'job_moved', jobId: first.jobId, from: 'unavailable', to: 'launching', reason: null, refusal: null }],
    ['a late submission', { type: 'job_submitted', from: 'unavailable', submission: { jobId: first.jobId, contextDigest: digest('c'), outputDigest: digest('o') } }],
    ['a success', { type: 'run_closed', outcome: 'completed' }],
  ])('has no %s behind it', (_what, event) => {
    expect(refusal(linesOf([{ ...source, events: [...lost, event] }]))).toMatch(/^invalid_record/);
  }); // prettier-ignore
});

describe('the order of an export', () => {
  it('has sources before rechecks, whatever the ids, and everything once', () => {
    const order = exportOrder([
      { runId: 'a', source: 'c' },
      { runId: 'b', source: null },
      { runId: 'c', source: 'd' },
      { runId: 'd', source: 'x' },
    ]);
    expect(order).toEqual(['d', 'c', 'a', 'b']);
  });

  it('is one for any order of arrival, and ends also where sources go in a circle', () => {
    const nodes = fc.uniqueArray(
      fc.record({ runId: fc.constantFrom(...'abcdef'), source: fc.option(fc.constantFrom(...'abcdef')) }),
      { selector: ({ runId }) => runId },
    );
    fc.assert(
      fc.property(nodes, (runs) => {
        const order = exportOrder(runs);
        expect([...order].sort()).toEqual(runs.map(({ runId }) => runId).sort());
        expect(exportOrder([...runs].reverse())).toEqual(order);
      }),
      { numRuns: 300, seed: 7 },
    ); // prettier-ignore
  });
});

it('takes keys of reviewers only when it is told to', () => {
  const reader = new LifecycleReader();
  for (const text of lines) reader.take(Buffer.from(text));
  expect(reader.finish().runs).toBe(2);
  expect(KEYS.keys.length).toBeGreaterThan(0);
});
