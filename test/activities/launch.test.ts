/**
 * Properties of claim and launch, of the door of its worker, and of settling, with the real engine over stores in memory:
 * - of any number that claim at once, one launches; whoever comes later, under whatever execution, launches nothing;
 * - a receipt counts before its last millisecond is over and not at it, at the claim and at the worker's fetch;
 * - a slot that was closed is never begun, and one that was begun is never closed; a job comes to one thing;
 * - an output submitted again is taken, another is not; whoever has another credential is told nothing;
 * - a stranger changes nothing, and an author only hands off; a context that is gone or changed launches nothing; the launch that threw has no end;
 * - what all of that leaves in the journal verifies.
 */
import { expect, test } from 'vitest';
import { END_REASONS } from '../../src/rules/launches/job-outcome';
import { workflowIdDigest } from '../../src/rules/plans/identity';
import { workerDoors } from '../../src/activities/worker-door';
import { AT, LaunchBench, quiet } from './launch-bench';

test('of many at once one launches, and nobody after it', async () => {
  const bench = await LaunchBench.make();
  const results = await Promise.all(Array.from({ length: 8 }, () => bench.launch()));
  expect(results.map(({ status }) => status).sort()).toEqual(['claimed', ...Array<string>(7).fill('taken')]);
  expect(await bench.launch()).toMatchObject({ status: 'taken', facts: { slot: 'begun', end: 'acked' } });
  expect(bench.launched).toHaveLength(1);
  await bench.verified();
});

test.each([
  [-1, 'claimed', 1],
  [0, 'turned_down', 0],
  [1, 'turned_down', 0],
])('at its expiry and %i ms', async (ms, status, launches) => {
  const bench = await LaunchBench.make();
  bench.clockMs = AT + 60_000 + ms;
  const result = await bench.launch();
  expect(result.status).toBe(status);
  if (result.status === 'turned_down') expect(result.reason).toBe('authorization_expired');
  expect(bench.launched).toHaveLength(launches);
});

test.each([
  [-1, null],
  [0, 'receipt_expired'],
  [1, 'receipt_expired'],
])('a fetch at the expiry and %i ms', async (ms, code) => {
  const bench = await LaunchBench.make();
  await bench.launch();
  bench.clockMs = AT + 60_000 + ms;
  const fetched = bench.launched[0]!.door.fetchContext();
  if (code === null) expect(await fetched).toEqual({ prompt: 'x' });
  else await expect(fetched).rejects.toMatchObject({ code });
  const { facts } = await bench.settle({ does: 'look' });
  expect(facts.outcome).toEqual(
    code === null ? null : { outcome: 'ended', reason: 'authorization_expired', refusal: null },
  );
  await bench.verified();
});

test.each([
  [{ outcome: 'started' } as const, { end: 'acked' }],
  [{ outcome: 'refused', code: 'no_budget' } as const, { end: 'refused', code: 'no_budget' }],
  [{ outcome: 'not_launched' } as const, { end: 'not_sent' }],
  ['throw' as const, { end: null }],
])('%j is told as it was', async (outcome, facts) => {
  const bench = await LaunchBench.make();
  bench.outcome = outcome;
  expect(await bench.launch()).toMatchObject({ status: 'claimed', facts: { slot: 'begun', ...facts } });
  expect(await bench.launch()).toMatchObject({ status: 'taken', facts });
  expect(bench.launched).toHaveLength(1);
  await bench.verified();
});

test('closed or begun, never both', async () => {
  const closed = await LaunchBench.make();
  expect((await closed.settle({ does: 'close' })).facts.slot).toBe('closed');
  expect(await closed.launch()).toMatchObject({ status: 'taken', facts: { slot: 'closed' } });
  expect(closed.launched).toEqual([]);
  await closed.verified();
  const begun = await LaunchBench.make();
  await begun.launch();
  expect((await begun.settle({ does: 'close' })).facts.slot).toBe('begun');
});

test('one submission, and one outcome', async () => {
  const bench = await LaunchBench.make();
  await bench.launch();
  const { door, credential } = bench.launched[0]!;
  const stranger = workerDoors(bench.engine, quiet)(credential.replace(/.{64}$/, '0'.repeat(64)));
  expect(await stranger.submit('theirs')).toEqual({ taken: false, code: 'worker_unknown' });
  await expect(stranger.fetchContext()).rejects.toMatchObject({ code: 'worker_unknown' });
  const answers = await Promise.all([door.submit({ a: 1, b: 2 }), door.submit({ b: 2, a: 1 })]);
  expect(answers.map(({ taken }) => taken)).toEqual([true, true]);
  expect(await door.submit({ a: 2 })).toEqual({ taken: false, code: 'record_conflict' });
  const ended = await bench.settle({ does: 'end', reason: 'running_deadline_exceeded', refusal: null });
  expect(ended).toMatchObject({ facts: { outcome: { outcome: 'submitted' } }, stored: 'intact' });
  await bench.verified();
  for (const path of bench.kept.names('results')) {
    bench.kept.entries.set(`results/${path}`, new TextEncoder().encode('{"result":"changed"}'));
  }
  expect((await bench.settle({ does: 'look' })).stored).toBe('broken');
});

test('nothing is taken from a worker that comes after the end', async () => {
  const bench = await LaunchBench.make();
  await bench.launch();
  await bench.settle({ does: 'end', reason: 'running_deadline_exceeded', refusal: null });
  expect(await bench.launched[0]!.door.submit('late')).toEqual({ taken: false, code: 'job_closed' });
  await expect(bench.launched[0]!.door.fetchContext()).rejects.toMatchObject({ code: 'job_closed' });
  await bench.verified();
});

test('whoever takes the id of its workflow without a receipt writes nothing', async () => {
  const bench = await LaunchBench.make();
  const other = await LaunchBench.make('two');
  const ends = END_REASONS.map((reason) => {
    return { does: 'end', reason, refusal: reason === 'provider_refused' ? 'no' : null } as const;
  });
  const held = bench.receipt;
  const tryAll = async (): Promise<void> => {
    const before = new Map(bench.store.entries);
    for (bench.receipt of ['junk', '', other.receipt, `${held.slice(0, -8)}AAAAAAAA`]) {
      for (const does of [{ does: 'close' } as const, ...ends]) {
        expect(await bench.settle(does)).toHaveProperty('refused');
      }
    }
    bench.receipt = held;
    expect(bench.store.entries).toEqual(before);
  };
  await tryAll();
  expect((await bench.launch()).status).toBe('claimed');
  await tryAll();
  expect((await bench.launched[0]!.door.submit('ours')).taken).toBe(true);
  await bench.verified();
});

test.each(END_REASONS)('with its receipt, begun and open or not begun: %s', async (reason) => {
  const does = { does: 'end', reason, refusal: reason === 'provider_refused' ? 'not_launched' : null } as const;
  const ofBegun = /^(provider_refused|launch_outcome_unknown|worker_exited|running_deadline)/.test(reason);
  const begun = await LaunchBench.make();
  begun.outcome = reason === 'provider_refused' ? { outcome: 'not_launched' } : { outcome: 'started' };
  await begun.launch();
  expect((await begun.settle(does)).facts.outcome).toEqual(ofBegun ? expect.objectContaining({ reason }) : null);
  await begun.verified();
  const waiting = await LaunchBench.make();
  waiting.clockMs = AT + 60_001;
  const { facts } = await waiting.settle(does);
  expect(facts).toMatchObject(ofBegun ? { slot: 'none', outcome: null } : { slot: 'closed', outcome: { reason } });
  await waiting.verified();
});

test('a stranger changes nothing', async () => {
  const bench = await LaunchBench.make();
  const before = new Map(bench.store.entries);
  const refused = { code: 'not_the_plans_workflow' };
  for (const who of [null, 'other', 'countersign/job/other'])
    await expect(bench.launch(who)).rejects.toMatchObject(refused);
  for (const who of [null, 'author', 'countersign/job/other']) {
    await expect(bench.settle({ does: 'close' }, who)).rejects.toMatchObject(refused);
  }
  await expect(bench.settle({ does: 'look' }, 'other')).rejects.toMatchObject({ code: 'not_the_plans_workflow' });
  expect((await bench.settle({ does: 'look' }, 'author')).facts.slot).toBe('none');
  expect(bench.store.entries).toEqual(before);
});

test('the workflow that its order names hands it off once, like its own, and cannot end it', async () => {
  const bench = await LaunchBench.make();
  expect(await bench.launch('author')).toMatchObject({ status: 'claimed', facts: { end: 'acked' } });
  for (const who of ['author', undefined]) expect(await bench.launch(who)).toMatchObject({ status: 'taken' });
  expect(bench.launched).toHaveLength(1);
  const does = { does: 'end', reason: 'launch_outcome_unknown', refusal: null } as const;
  // Whoever copies the order of somebody else's call names himself in vain.
  bench.record = { ...bench.record, origin: workflowIdDigest('other') };
  await expect(bench.launch('other')).rejects.toMatchObject({ code: 'not_the_plans_workflow' });
  await expect(bench.settle(does, 'author')).rejects.toMatchObject({ code: 'not_the_plans_workflow' });
  await bench.verified();
});

test('an id is one launch, whoever hands it off, and without the content store', async () => {
  const bench = await LaunchBench.make();
  const other = await LaunchBench.make('one', bench.store, undefined, 6);
  expect(await bench.launchFromOwn()).toMatchObject({ status: 'claimed' });
  await expect(other.launch('author')).rejects.toMatchObject({ code: 'plan_conflict' });
  await expect(other.launchFromOwn()).rejects.toMatchObject({ code: 'plan_conflict' });
  await expect(LaunchBench.make('one', bench.store, undefined, 6)).rejects.toMatchObject({ code: 'plan_conflict' });
  expect(await bench.launch('author')).toMatchObject({ status: 'taken' });
  expect([bench.launched.length, other.launched.length]).toEqual([1, 0]);
  await bench.verified();
});

test('a job that names another call than its own launches nothing', async () => {
  const bench = await LaunchBench.make();
  for (const call of [
    { origin: 'test', id: 'two', workflow_id: 'author' },
    { origin: 'test', id: 'one' },
  ]) {
    await expect(bench.launchFromOwn(call)).rejects.toMatchObject({ code: 'not_the_plans_workflow' });
  }
  expect(bench.launched).toEqual([]);
});

test('a context that is gone launches nothing', async () => {
  const bench = await LaunchBench.make();
  for (const name of bench.kept.names('results')) bench.kept.entries.delete(`results/${name}`);
  expect(await bench.launch()).toMatchObject({ status: 'turned_down', reason: 'context_integrity_failed' });
  expect(bench.launched).toEqual([]);
});
