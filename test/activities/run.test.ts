/**
 * Properties of advancing a verification run, with the real engine over stores in memory:
 * - whatever entry a crash comes before or after, whoever goes on comes to the same history, with one launch a job at most, and every
 *   state on the way verifies strictly;
 * - any number that advance at once write one history; what a workflow knows and the journal does not is refused;
 * - what exceeds a limit, lacks contents, checks or people, or is misnamed, is refused before anything is recorded;
 * - a receipt of a run counts before its last millisecond is over and not at it, of the run's person only, and only in its turn;
 * - an output that is not what its job was to bring, or is gone, ends the run; a check that throws or is late is inconclusive;
 * - a stranger changes nothing, and a capture is used for one thing.
 */
import { describe, expect, test } from 'vitest';
import type { PreparedRun, RunDraft } from '../../src/client';
import type { Store } from '../../src/ports';
import { lifecycleToText, type LifecycleRecord } from '../../src/rules/verification/lifecycle-record';
import { plannedJobs } from '../../src/rules/verification/chain';
import { runDigest, runIdOf, type VerificationRun } from '../../src/rules/verification/run';
import { digest } from '../rules/receipts/support';
import { draft, local, specialist } from '../workflows/verification/drafts';
import { AT, RunBench } from './run-bench';

const told = ({ event }: LifecycleRecord): string =>
  event.type === 'job_moved' ? `${event.type} ${event.to}` : event.type;

/** A worker that submits within its launch is never seen to run. */
const DONE = [
  ...['run_opened', 'result_committed', 'job_prepared', 'job_authorized', 'job_moved launching', 'job_submitted'],
  ...['result_committed', 'job_prepared', 'job_completed', 'job_authorized', 'job_moved launching', 'job_submitted'],
  ...['results_related', 'job_completed', 'run_closed'],
];

async function begun(more: Partial<RunDraft> = {}): Promise<{ bench: RunBench; prepared: PreparedRun }> {
  const bench = new RunBench();
  return { bench, prepared: await bench.prepare(draft(1, 1, more)) };
}

test('to its end, in order', async () => {
  const { bench, prepared } = await begun();
  const book = await bench.carry(prepared);
  expect(book.records.map(told)).toEqual(DONE);
  expect(bench.launched).toEqual(plannedJobs(prepared.run).map(({ jobId }) => jobId));
  await bench.verified();
  const again = await bench.advance(prepared);
  expect(again).toMatchObject({ replayed: true, more: false });
  expect(again.records).toEqual(book.records.map(lifecycleToText));
});

/** The store of a process that dies at its n-th create, before or after it happened. */
function failing(store: Store, nth: number, after: boolean): Store {
  let left = nth;
  const alive = <T>(call: () => Promise<T>): Promise<T> => (left > 0 ? call() : Promise.reject(new Error('killed')));
  return {
    scope: 'host',
    read: (name) => alive(() => store.read(name)),
    list: (prefix, last) => alive(() => store.list(prefix, last)),
    create: (name, bytes) =>
      alive(async () => {
        left -= 1;
        if (left === 0 && after) await store.create(name, bytes);
        if (left === 0) throw new Error('killed');
        return store.create(name, bytes);
      }),
  };
}

describe.each([false, true])('killed at any entry, after it: %s', (after) => {
  test('goes on to one history', async () => {
    let killed = 0;
    for (let nth = 1; ; nth += 1) {
      const { bench, prepared } = await begun();
      bench.view = failing(bench.journal, nth, after);
      const whole = await bench.carry(prepared).then(
        () => true,
        () => false,
      );
      await bench.verified();
      bench.view = bench.journal;
      const book = await bench.carry(prepared);
      await bench.verified();
      for (const { jobId } of plannedJobs(prepared.run)) {
        expect(bench.launched.filter((one) => one === jobId).length, `entry ${nth}`).toBeLessThanOrEqual(1);
      }
      const lost = [...book.jobs.values()].find(({ reason }) => reason !== null);
      if (lost === undefined) expect(book.records.map(told), `entry ${nth}`).toEqual(DONE);
      else expect(lost.reason, `entry ${nth}`).toBe('launch_outcome_unknown');
      if (whole) break;
      killed += 1;
    }
    expect(killed).toBeGreaterThan(15);
  });
});

test('many at once write one history', async () => {
  const { bench, prepared } = await begun();
  const results = await Promise.all(Array.from({ length: 6 }, () => bench.advance(prepared)));
  for (const { records } of results) expect(records).toEqual(results[0]?.records);
  await bench.carry(prepared);
  expect((await bench.book(prepared)).records.map(told)).toEqual(DONE);
});

test('a history that the journal does not hold is refused', async () => {
  const { bench, prepared } = await begun();
  const known = { sequence: 1, digest: digest('another history') };
  await bench.advance(prepared);
  await expect(bench.advance(prepared, { does: 'go_on' }, { known })).rejects.toMatchObject({ code: 'journal_behind' });
  const behind = bench.advance(prepared, { does: 'go_on' }, { known: { sequence: 99, digest: known.digest } });
  await expect(behind).rejects.toMatchObject({ code: 'journal_behind' });
  const other = bench.advance(prepared, { does: 'go_on' }, { journal_id: `jrn_${'9'.repeat(32)}` });
  await expect(other).rejects.toMatchObject({ code: 'wrong_journal' });
});

const altered = (prepared: PreparedRun, change: (run: VerificationRun) => VerificationRun): PreparedRun => {
  const run = change(prepared.run);
  return { ...prepared, run, runId: runIdOf(runDigest(run)) };
};

describe('is not opened', () => {
  const CASES: Record<
    string,
    readonly [code: string, change: (bench: RunBench, prepared: PreparedRun) => PreparedRun | void]
  > = {
    'with more launched checks than this worker takes': [
      'invalid_record',
      (bench) => void (bench.mostLaunchedChecks = 0),
    ],
    'without its contents': ['content_missing', (bench) => bench.kept.entries.clear()],
    'without a check of this worker': [
      'no_adapter',
      (_bench, prepared) =>
        altered(prepared, (run) => ({
          ...run,
          plan: {
            checks: run.plan.checks.map((one) => (one.binding === 'words' ? { ...one, binding: 'nobody' } : one)),
          },
          executors: {
            ...run.executors,
            checks: [
              { mode: 'in_process', binding: 'nobody' },
              ...run.executors.checks.filter(({ mode }) => mode === 'launched'),
            ],
          },
        })),
    ],
    'where nobody could authorize': ['reviewers_unavailable', (bench) => void (bench.reviewers = null)],
    'under another id': ['invalid_arguments', (_bench, prepared) => ({ ...prepared, runId: `run_${'0'.repeat(32)}` })],
    'for nobody': ['invalid_arguments', (_bench, prepared) => ({ ...prepared, person: 'ann' })],
  };
  test.each(Object.entries(CASES))('%s', async (_name, [code, change]) => {
    const { bench, prepared } = await begun();
    const asked = change(bench, prepared) ?? prepared;
    const before = new Map(bench.journal.entries);
    await expect(bench.advance(asked)).rejects.toMatchObject({ code });
    expect(bench.journal.entries).toEqual(before);
  });

  test('with a capture that has another content', async () => {
    const { bench, prepared } = await begun();
    await bench.advance(prepared);
    const changed = altered(prepared, (run) => ({
      ...run,
      snapshot: { ...run.snapshot, targetDigest: run.snapshot.contentDigest },
    }));
    await expect(bench.advance(changed)).rejects.toMatchObject({ code: 'record_conflict' });
    const other = await bench.prepare(
      draft(1, 0, { capture: { ...draft(1, 0).capture, captureId: prepared.run.snapshot.captureId } }),
    );
    expect(await bench.advance(other)).toMatchObject({ refused: null });
  });
});

describe('a receipt', () => {
  test.each([
    [-1, null],
    [0, 'receipt_expired'],
    [1, 'receipt_expired'],
  ])('at its expiry and %i ms', async (ms, code) => {
    const { bench, prepared } = await begun();
    await bench.advance(prepared);
    const token = bench.receipt(await bench.book(prepared));
    bench.clockMs = AT + 60_000 + ms;
    const { refused } = await bench.authorize(prepared, token);
    expect(refused?.code ?? null).toBe(code);
    expect((await bench.book(prepared)).receipts.size).toBe(code === null ? 1 : 0);
    await bench.verified();
  });

  test('of another person, job, context or ceiling is refused, and a second one, too', async () => {
    const { bench, prepared } = await begun();
    await bench.advance(prepared);
    const book = await bench.book(prepared);
    const wrong = [{ who: 'bob' }, { jobId: '0'.repeat(32) }, { contextDigest: digest('x') }, { costCeiling: 6 }];
    for (const more of wrong) {
      expect((await bench.authorize(prepared, bench.receipt(book, more))).refused).not.toBeNull();
    }
    const token = bench.receipt(book);
    expect((await bench.authorize(prepared, token)).refused).toBeNull();
    expect((await bench.authorize(prepared, token)).refused).toBeNull();
    expect((await bench.authorize(prepared, bench.receipt(book))).refused).toMatchObject({ code: 'receipt_replayed' });
    expect((await bench.book(prepared)).receipts.size).toBe(1);
  });

  test('launches only in its turn, and only what the run holds', async () => {
    const { bench, prepared } = await begun();
    await bench.advance(prepared);
    const book = await bench.book(prepared);
    const stranger = bench.receipt(book);
    book.receipts.set([...book.jobs.keys()][0]!, { token: stranger, expiresAt: AT + 60_000 });
    await bench.launch(book);
    expect(bench.launched).toEqual([]);
  });
});

test('a job that nobody authorizes, or carries, ends the run', async () => {
  for (const why of ['expired', 'given_up'] as const) {
    const { bench, prepared } = await begun();
    await bench.advance(prepared);
    const [jobId] = [...(await bench.book(prepared)).jobs.keys()];
    await bench.advance(prepared, { does: 'end', job_id: jobId!, why });
    const book = await bench.book(prepared);
    expect(book.outcome).toBe('incomplete');
    expect([...book.jobs.values()]).toMatchObject([
      { state: 'unavailable', reason: why === 'expired' ? 'authorization_expired' : 'dispatch_exhausted' },
    ]);
    expect(bench.launched).toEqual([]);
    await bench.verified();
  }
});

test.each<[string, unknown, string]>([
  ['has no outcome', { verdict: 'fine' }, 'job_processing_failed'],
  ['is no object', 'departs', 'job_processing_failed'],
  ['has an outcome of its own', { outcome: 'splendid' }, 'job_processing_failed'],
])('an output that %s', async (_name, output, reason) => {
  const { bench, prepared } = await begun();
  bench.brings = () => output;
  const book = await bench.carry(prepared);
  expect(book.outcome).toBe('incomplete');
  expect([...book.jobs.values()]).toMatchObject([{ state: 'failed', reason }]);
  expect(book.records.map(told).filter((one) => one === 'job_prepared')).toHaveLength(1);
  await bench.verified();
});

test('a stored output that is gone ends the run, and its successor is withdrawn', async () => {
  const { bench, prepared } = await begun();
  for (let nth = 1; ; nth += 1) {
    const again = new RunBench();
    const run = await again.prepare(draft(1, 1));
    again.view = failing(again.journal, nth, true);
    const whole = await again.carry(run).then(
      () => true,
      () => false,
    );
    if (whole) break;
    const book = await again.book(run);
    const [first] = [...book.jobs.values()];
    if (first?.state !== 'submitted') continue;
    for (const name of [...again.kept.entries.keys()]) {
      if (name === `results/${book.outputs.get(first.jobId)?.slice(7)}`) again.kept.entries.delete(name);
    }
    again.view = again.journal;
    const ended = await again.carry(run);
    expect(ended.outcome).toBe('incomplete');
    expect([...ended.jobs.values()].map(({ reason }) => reason)).toEqual(
      ['submission_integrity_failed', 'authorization_invalid'].slice(0, ended.jobs.size),
    );
    expect(again.launched).toHaveLength(1);
    await again.verified();
  }
  await bench.carry(prepared);
});

test.each<[string, RunBench['checks']]>([
  ['throws', () => Promise.reject(new Error('planted-prose'))],
  ['answers something else', () => Promise.resolve({ outcome: 'fine' as never })],
  ['answers nothing', () => Promise.resolve(undefined as never)],
  ['says what JSON cannot carry', () => Promise.resolve({ outcome: 'departs', content: { count: 1n } })],
])('a check that %s is inconclusive', async (_name, run) => {
  const { bench, prepared } = await begun();
  bench.checks = run;
  const book = await bench.carry(prepared);
  expect(book.results[0]?.result.outcome).toBe('inconclusive');
  await bench.verified();
});

test('what a check once answered stays its answer', async () => {
  const { bench, prepared } = await begun();
  bench.view = failing(bench.journal, 3, false);
  await bench.advance(prepared).catch(() => undefined);
  bench.view = bench.journal;
  bench.checks = () => Promise.resolve({ outcome: 'conforms' });
  expect((await bench.carry(prepared)).results[0]?.result.outcome).toBe('departs');
});

test('a stranger changes nothing', async () => {
  const { bench, prepared } = await begun();
  await bench.advance(prepared);
  const before = new Map(bench.journal.entries);
  for (const workflowId of [null, 'somebody', `countersign/verify/run_${'0'.repeat(32)}`]) {
    const asked = bench.advance(prepared, { does: 'go_on' }, { workflowId });
    await expect(asked).rejects.toMatchObject({ code: 'not_the_plans_workflow' });
  }
  expect(bench.journal.entries).toEqual(before);
});

test('a run that launches nothing needs nobody', async () => {
  const bench = new RunBench();
  bench.reviewers = null;
  const prepared = await bench.prepare(draft(3, 0));
  expect((await bench.carry(prepared)).records.map(told)).toEqual([
    'run_opened',
    ...Array(3).fill('result_committed'),
    'run_closed',
  ]);
  await bench.verified();
});

test('a draft with too many launched checks is refused before anything is stored', async () => {
  const bench = new RunBench();
  const checks = Array.from({ length: 257 }, (_, index) => specialist(index));
  await expect(bench.prepare(draft(0, 1, { checks: [local(0), ...checks] }))).rejects.toMatchObject({
    code: 'invalid_record',
  });
  expect(bench.kept.entries.size).toBe(0);
});
