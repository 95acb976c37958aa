/**
 * Obligations and rechecks.
 *
 * Held here:
 * - obligations are one answer for any order of arrival, with any receipt arriving again;
 * - they are pending until results of a run that is bound to them prove each proposal, and can always be finished;
 * - a start is refused when it is wider, later, earlier or other than what the intent allows, with the field that says so;
 * - an exact retry gives the run that was started, also when nothing is pending any more; the same capture with anything changed is refused;
 * - an affirmation is for one person, one passage and what stood in it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/rules/refusal';
import { affirmationDigest, type Affirmation } from '../../../src/rules/verification/affirmation';
import {
  deriveObligations,
  type Obligation,
  type RunReceipt,
  type VerificationReceipt,
} from '../../../src/rules/verification/obligations';
import {
  admitAffirmation,
  judgeRecheck,
  type RecheckContext,
  type RecheckRequest,
} from '../../../src/rules/verification/recheck-start';
import { resultDigest, type CheckResult } from '../../../src/rules/verification/results';
import { runDigest, runIdOf, type VerificationRun } from '../../../src/rules/verification/run';
import { recheckIntentId } from '../../../src/rules/verification/sitting';
import type { Selector } from '../../../src/rules/verification/snapshot';
import { ANN, BOB, capture, check, digest, launched, proposal, runOf, sittingId } from './support';

const [P1, P2] = [proposal(1), proposal(2)];
const COMMITTED = 10_000;
const NOW = 20_000;

/** A run, and one result a check. */
function told(
  run: VerificationRun,
  capturedAt: number,
): { receipts: VerificationReceipt[]; results: string[]; run: RunReceipt } {
  const of = runDigest(run);
  const opened: RunReceipt = { kind: 'run', digest: of, run, person: ANN, capturedAt };
  const results = run.plan.checks.map((one): CheckResult => {
    return { runId: runIdOf(of), check: one, outcome: 'departs', jobId: null, submission: null };
  });
  const receipts = results.map((result) => ({
    kind: 'result' as const,
    digest: resultDigest(result),
    runDigest: of,
    result,
  }));
  return { run: opened, receipts: [opened, ...receipts], results: receipts.map((one) => one.digest) };
}
const relate = (kind: 'addresses' | 'rechecks', from: string, to: string): VerificationReceipt => ({
  kind: 'relation',
  relation: { kind, from, to },
});

function world(selector: Partial<Selector> = {}): {
  source: ReturnType<typeof told>;
  receipts: VerificationReceipt[];
  intentId: string;
} {
  const base = runOf(2, 0);
  const source = told(
    { ...base, snapshot: { ...base.snapshot, selector: { ...base.snapshot.selector, ...selector } } },
    1_000,
  );
  const [r1, r2] = source.results as [string, string];
  const sitting = { sittingId: sittingId(1), person: BOB, committedAt: COMMITTED, proposals: [P1, P2] };
  const intent = { sittingId: sitting.sittingId, sourceRun: source.run.digest, proposals: [P1, P2] };
  const receipts = [
    ...source.receipts,
    relate('addresses', r1, P1),
    relate('addresses', r2, P2),
    { kind: 'sitting' as const, sitting },
  ];
  return { source, receipts, intentId: recheckIntentId(intent) };
}

function recheckOf(
  { source, intentId }: Pick<ReturnType<typeof world>, 'source' | 'intentId'>,
  proposals: readonly string[],
  number: number,
  affirmation: string | null = null,
): VerificationRun {
  const { run } = source.run;
  return {
    ...run,
    kind: 'recheck',
    snapshot: { ...run.snapshot, captureId: capture(number), targetDigest: digest('new target') },
    input: { ...run.input, recheck: { intentId, sourceRun: source.run.digest, proposals, affirmation } },
  };
}

/** What proves that a run answers a proposal of the place. */
function proven(
  answer: ReturnType<typeof told>,
  source: ReturnType<typeof told>,
  place: number,
): VerificationReceipt[] {
  const from = answer.results[place] as string;
  return [
    relate('rechecks', from, [P1, P2][place] as string),
    relate('rechecks', from, source.results[place] as string),
  ];
}

const only = (receipts: readonly VerificationReceipt[]): Obligation => {
  const all = deriveObligations(receipts);
  expect(all).toHaveLength(1);
  return all[0] as Obligation;
};
const durable = world();
const lost = world({ reference: null });

describe('an obligation', () => {
  it('is pending with all that was applied', () => {
    expect(only(durable.receipts)).toMatchObject({
      intentId: durable.intentId,
      state: 'pending_capture',
      pending: [P1, P2],
    });
    expect(only(lost.receipts)).toMatchObject({ state: 'user_action_required', pending: [P1, P2] });
    expect(only(world({ kind: 'whole', reference: null }).receipts).state).toBe('pending_capture');
  });

  it.each<[string, VerificationReceipt[]]>([
    ['no sitting', durable.receipts.filter(({ kind }) => kind !== 'sitting')],
    ['nothing that a proposal addresses', durable.receipts.filter(({ kind }) => kind !== 'relation')],
    ['no source', durable.receipts.filter(({ kind }) => kind !== 'run')],
    [
      'a source that came after the sitting, and calls its proposals as another did',
      durable.receipts.map((one) => (one.kind === 'run' ? { ...one, capturedAt: COMMITTED + 1 } : one)),
    ],
  ])('is none where there is %s', (_what, receipts) => {
    expect(deriveObligations(receipts)).toEqual([]);
  });

  it('is fulfilled proposal by proposal, and can be finished', () => {
    const first = told(recheckOf(durable, [P1, P2], 2), COMMITTED + 1);
    const half = [...durable.receipts, ...first.receipts, ...proven(first, durable.source, 0)];
    expect(only(half)).toMatchObject({ state: 'pending_capture', pending: [P2] });
    const second = told(recheckOf(durable, [P2], 3), COMMITTED + 2);
    expect(judgeRecheck(asked(second.run), contextOf(half))).toMatchObject({ verdict: 'start' });
    const done = [...half, ...second.receipts, ...proven(second, durable.source, 1)];
    expect(only(done)).toMatchObject({ state: 'fulfilled', pending: [] });
  });

  const answered = told(recheckOf(durable, [P1, P2], 2), COMMITTED + 1);
  const all = [...answered.receipts, ...proven(answered, durable.source, 0), ...proven(answered, durable.source, 1)];
  const of = (run: VerificationRun, at: number): VerificationReceipt[] => {
    const other = told(run, at);
    return [...other.receipts, ...proven(other, durable.source, 0), ...proven(other, durable.source, 1)];
  };
  const { run } = answered.run;
  it.each<[string, VerificationReceipt[]]>([
    ['only the run', answered.receipts],
    [
      'only relations to proposals',
      all.filter((one) => one.kind !== 'relation' || one.relation.to.startsWith('prop_')),
    ],
    [
      'only relations to results',
      all.filter((one) => one.kind !== 'relation' || one.relation.to.startsWith('sha256:')),
    ],
    ['results of other checks', [...answered.receipts, ...swapped(answered)]],
    ['a run of before the sitting', of(run, COMMITTED)],
    [
      'a run of another model',
      of({ ...run, executors: { ...run.executors, coordinator: launched('coordinate') } }, NOW),
    ],
    ['a run for another goal', of({ ...run, input: { ...run.input, goalDigest: digest('x') } }, NOW)],
    [
      'a wider run',
      of({ ...run, snapshot: { ...run.snapshot, selector: { ...run.snapshot.selector, kind: 'whole' } } }, NOW),
    ],
    ['a run for another intent', of(recheckOf({ ...durable, intentId: digest('x') }, [P1, P2], 2), NOW)],
  ])('is not fulfilled by %s', (_what, receipts) => {
    expect(only([...durable.receipts, ...receipts]).pending).toEqual([P1, P2]);
  });
  function swapped(answer: ReturnType<typeof told>): VerificationReceipt[] {
    const [one, two] = answer.results as [string, string];
    const [r1, r2] = durable.source.results as [string, string];
    return [
      relate('rechecks', two, P1),
      relate('rechecks', two, r1),
      relate('rechecks', one, P2),
      relate('rechecks', one, r2),
    ];
  }

  it('is one answer for any order of arrival, however often', () => {
    const second = world({ reference: null });
    const receipts = [...durable.receipts, ...all, ...second.receipts];
    const expected = deriveObligations(receipts);
    const shuffled = fc.shuffledSubarray([...receipts, ...receipts.slice(0, 5)], { minLength: receipts.length + 5 });
    fc.assert(
      fc.property(shuffled, (other) => {
        expect(deriveObligations(other)).toEqual(expected);
      }),
      { numRuns: 200, seed: 7 },
    );
    fc.assert(
      fc.property(fc.shuffledSubarray(receipts), (some) => {
        expect(deriveObligations([...some].reverse())).toEqual(deriveObligations(some));
      }),
      { numRuns: 200, seed: 7 },
    );
  });
});

function asked({ run, person, capturedAt }: RunReceipt): RecheckRequest {
  return { run, person, capturedAt };
}
function contextOf(receipts: readonly VerificationReceipt[], now = NOW): RecheckContext {
  const runs = new Map<string, RunReceipt>();
  const affirmations = new Map<string, Affirmation>();
  for (const one of receipts) {
    if (one.kind === 'run') runs.set(one.digest, one);
    if (one.kind === 'affirmation') affirmations.set(one.digest, one.affirmation);
  }
  return { now, obligations: deriveObligations(receipts), runs, affirmations };
}

const good: RecheckRequest = { run: recheckOf(durable, [P1, P2], 2), person: ANN, capturedAt: COMMITTED + 1 };
const changed = (change: (run: VerificationRun) => Partial<VerificationRun>): RecheckRequest => ({
  ...good,
  run: { ...good.run, ...change(good.run) },
});
const target = (selector: Partial<Selector>): RecheckRequest =>
  changed(({ snapshot }) => ({ snapshot: { ...snapshot, selector: { ...snapshot.selector, ...selector } } }));
const lineage = (more: object): RecheckRequest =>
  changed(({ input }) => ({
    input: { ...input, recheck: { ...(input.recheck as NonNullable<typeof input.recheck>), ...more } },
  }));

describe('a start', () => {
  const context = contextOf(durable.receipts);
  const refusedAs = (request: RecheckRequest, within = context): string => {
    const verdict = judgeRecheck(request, within);
    if (verdict.verdict !== 'refused') return verdict.verdict;
    expect(verdict.refusal).toBeInstanceOf(Refusal);
    return `${verdict.refusal.code} ${verdict.refusal.field ?? ''}`;
  };

  it('is allowed for exactly what is owed', () => {
    const digestOf = runDigest(good.run);
    expect(judgeRecheck(good, context)).toEqual({ verdict: 'start', runId: runIdOf(digestOf), runDigest: digestOf });
  });

  it.each<[string, RecheckRequest, string]>([
    ['widened to the whole', target({ kind: 'whole', reference: null }), 'snapshot.selector.kind'],
    ['of another passage', target({ reference: digest('x') }), 'snapshot.selector.reference'],
    ['without its reference', target({ reference: null }), 'snapshot.selector.reference'],
    ['of another document', target({ source: digest('x') }), 'snapshot.selector.source'],
    ['shown less, or more', changed(({ snapshot }) => ({ snapshot: { ...snapshot, contextBoundary: 'captured_target_only' } })), 'snapshot.context_boundary'],
    ['without an intent', changed(({ input }) => ({ kind: 'verify', input: { ...input, recheck: null } })), 'input.recheck'],
    ['for another intent', lineage({ intentId: digest('x') }), 'input.recheck.intent_id'],
    ['of another source', lineage({ sourceRun: digest('x') }), 'input.recheck.source_run'],
    ['for another goal', changed(({ input }) => ({ input: { ...input, goalDigest: digest('x') } })), 'input.goal_digest'],
    ['for another protected intent', changed(({ input }) => ({ input: { ...input, protectedIntentDigest: null } })), 'input.protected_intent_digest'],
    ['of fewer proposals', lineage({ proposals: [P1] }), 'input.recheck.proposals'],
    ['of more proposals', lineage({ proposals: [P1, P2, proposal(3)] }), 'input.recheck.proposals'],
    ['on the same snapshot', changed(() => ({ snapshot: durable.source.run.run.snapshot })), 'snapshot.capture_id'],
    ['by a backdated clock', { ...good, capturedAt: COMMITTED }, 'captured_at'],
    ['by a clock that is ahead', { ...good, capturedAt: NOW + 300_001 }, 'captured_at'],
    ['with an invented affirmation', lineage({ affirmation: digest('x') }), 'input.recheck.affirmation'],
    ['by another model', changed(({ executors }) => ({ executors: { ...executors, coordinator: launched('coordinate', { model: 'model-2' }) } })), 'executors'],
    ['by another provider', changed(({ executors }) => ({ executors: { ...executors, coordinator: launched('coordinate', { provider: 'x' }) } })), 'executors'],
    ['by another check', changed(() => ({ plan: { checks: [check('more', 'local')] } })), 'plan.checks'],
    ['that is no recheck', changed(() => ({ kind: 'verify' })), 'kind'],
  ])('%s is refused', (_what, request, field) => {
    expect(refusedAs(request)).toBe(`recheck_refused ${field}`);
  }); // prettier-ignore

  const answer = told(good.run, good.capturedAt);
  const started = [...durable.receipts, ...answer.receipts];
  const done = [...started, ...proven(answer, durable.source, 0), ...proven(answer, durable.source, 1)];
  it('that was made gives its run again, also when nothing is pending any more', () => {
    for (const receipts of [started, done]) {
      expect(judgeRecheck(good, contextOf(receipts))).toMatchObject({
        verdict: 'started',
        runDigest: answer.run.digest,
      });
    }
    expect(only(done).state).toBe('fulfilled');
    expect(refusedAs({ ...good, run: recheckOf(durable, [P1, P2], 4) }, contextOf(done))).toBe(
      'recheck_refused input.recheck.intent_id',
    );
  });

  it.each<[string, RecheckRequest]>([
    ['another goal', changed(({ input }) => ({ input: { ...input, goalDigest: digest('x') } }))],
    ['another protected intent', changed(({ input }) => ({ input: { ...input, protectedIntentDigest: digest('x') } }))],
    ['another model', changed(({ executors }) => ({ executors: { ...executors, coordinator: launched('coordinate', { model: 'model-2' }) } }))],
    ['another configuration', changed(() => ({ plan: { checks: [{ ...check('local-0', 'local'), configurationSha256: digest('x') }] } }))],
    ['another lineage', lineage({ proposals: [P1] })],
    ['an affirmation', lineage({ affirmation: digest('x') })],
  ])('that was made is refused with %s on the same capture', (_what, request) => {
    expect(refusedAs(request, contextOf(started))).toMatch(/^recheck_refused/);
    expect(refusedAs(request, contextOf(done))).toMatch(/^recheck_refused/);
  }); // prettier-ignore
});

describe('an affirmation', () => {
  const { run } = lost.source.run;
  const affirmed: Affirmation = {
    intentId: lost.intentId,
    sourceRun: lost.source.run.digest,
    proposals: [P1, P2],
    goalDigest: run.input.goalDigest,
    protectedIntentDigest: run.input.protectedIntentDigest,
    person: ANN,
    snapshot: {
      ...run.snapshot,
      captureId: capture(5),
      targetDigest: digest('chosen'),
      selector: { ...run.snapshot.selector, reference: digest('chosen passage') },
    },
    capturedAt: COMMITTED + 1,
  };
  const context = contextOf(lost.receipts);
  const named = affirmationDigest(affirmed);
  const given = contextOf([...lost.receipts, { kind: 'affirmation', digest: named, affirmation: affirmed }]);
  const start: RecheckRequest = {
    run: { ...recheckOf(lost, [P1, P2], 6, named), snapshot: { ...affirmed.snapshot, captureId: capture(6) } },
    person: ANN,
    capturedAt: COMMITTED + 2,
  };
  const with_ = (snapshot: Partial<VerificationRun['snapshot']>): RecheckRequest => ({
    ...start,
    run: { ...start.run, snapshot: { ...start.run.snapshot, ...snapshot } },
  });

  it('is taken, again too, and lets exactly its passage be checked', () => {
    expect(admitAffirmation(affirmed, context)).toBe(named);
    expect(admitAffirmation(affirmed, given)).toBe(named);
    expect(judgeRecheck(start, given)).toMatchObject({ verdict: 'start' });
    expect(judgeRecheck(start, context)).toMatchObject({ verdict: 'refused' });
  });

  it.each<[string, Partial<Affirmation>, string]>([
    ['another intent', { intentId: digest('x') }, 'intent_id'],
    ['another source', { sourceRun: digest('x') }, 'source_run'],
    ['other proposals', { proposals: [P1] }, 'proposals'],
    ['another goal', { goalDigest: digest('x') }, 'goal_digest'],
    ['another protected intent', { protectedIntentDigest: null }, 'protected_intent_digest'],
    ['the capture of the source', { snapshot: { ...affirmed.snapshot, captureId: run.snapshot.captureId } }, 'snapshot.capture_id'],
    ['another document', { snapshot: { ...affirmed.snapshot, selector: { ...affirmed.snapshot.selector, source: digest('x') } } }, 'snapshot.selector.source'],
    ['the whole', { snapshot: { ...affirmed.snapshot, selector: { ...affirmed.snapshot.selector, kind: 'whole' } } }, 'snapshot.selector.kind'],
    ['no passage', { snapshot: { ...affirmed.snapshot, selector: { ...affirmed.snapshot.selector, reference: null } } }, 'snapshot.selector.reference'],
    ['a time before the sitting', { capturedAt: COMMITTED }, 'captured_at'],
  ])('of %s is refused', (_what, more, field) => {
    const attempt = (): string => admitAffirmation({ ...affirmed, ...more }, context);
    expect(attempt).toThrow(expect.objectContaining({ code: 'recheck_refused', field }));
  }); // prettier-ignore

  it('is refused where the target is found again by itself', () => {
    const attempt = (): string =>
      admitAffirmation({ ...affirmed, intentId: durable.intentId }, contextOf(durable.receipts));
    expect(attempt).toThrow(expect.objectContaining({ code: 'recheck_refused', field: 'intent_id' }));
  });

  it.each<[string, RecheckRequest, string]>([
    ['an edit inside the passage', with_({ targetDigest: digest('edited') }), 'snapshot.target_digest'],
    ['another passage', with_({ selector: { ...start.run.snapshot.selector, reference: digest('x') } }), 'snapshot.selector.reference'],
    ['the whole', with_({ selector: { ...start.run.snapshot.selector, kind: 'whole' } }), 'snapshot.selector.kind'],
    ['the capture of the affirmation', with_({ captureId: capture(5) }), 'snapshot.capture_id'],
    ['another person', { ...start, person: BOB }, 'person'],
    ['an invented affirmation', { ...start, run: recheckOf(lost, [P1, P2], 6, digest('x')) }, 'input.recheck.affirmation'],
    ['no affirmation', { ...start, run: recheckOf(lost, [P1, P2], 6) }, 'input.recheck.affirmation'],
  ])('does not cover %s', (_what, request, field) => {
    const verdict = judgeRecheck(request, given);
    expect(verdict).toMatchObject({ verdict: 'refused', refusal: { code: 'recheck_refused', field } });
  }); // prettier-ignore
});
