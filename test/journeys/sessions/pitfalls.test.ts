/**
 * Fifteen ways in which calls of agents' tools go wrong where they are not governed, each with what happens here. Real processes, a server
 * that is killed, and signals:
 *
 *  1. the same place in another round skips a side effect      9. a tool that says nothing of itself is taken for a safe one
 *  2. one approval releases its sibling                       10. an approval says nothing of the arguments that were shown
 *  3. a result that was held is refused after a restart       11. whoever asks approves
 *  4. a worker that comes back makes its call doubtful        12. anybody approves
 *  5. one timer covers waiting and executing                  13. a missing argument passes a rule that denies
 *  6. a lease that is lost changes nothing                    14. one open question holds up its siblings after a restart
 *  7. an orderly end fails the calls that wait                15. of a doubtful call a person can only say yes or no
 *  8. a worker completes the call of another
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Child } from '../../../scripts/kill-matrix/child';
import type { SessionHandle } from '../../../src/client';
import { ledgerRows, type LedgerRow } from '../../../src/rules/invocations/ledger';
import { until } from '../../sessions/support';
import { APPROVER, AUDITOR, approvalOf, personOf, rejectionOf, resolutionOf } from '../../support/reviewers';
import { SessionStand } from './stand';
import type { Errand, ToolOrders } from './worker-main';

const LONG = 120_000;
const tool = (name: string, more: Partial<ToolOrders> = {}): ToolOrders => ({
  ...{ tool: name, sideEffect: 'non_idempotent_write', capacity: 'queue', queueWaitMs: LONG },
  ...more,
});
const stand = new SessionStand(
  [
    ...['plain', 'asked', 'guarded', 'late'].map((name) => tool(name)),
    tool('one-by-one', { slots: 1 }),
    tool('brief', { slots: 1, queueWaitMs: 2_500 }),
    ...['stopped', 'killed'].map((name): ToolOrders => ({
      tool: name,
      capacity: 'queue',
      queueWaitMs: LONG,
      deadlineMs: 42_000,
    })),
  ],
  [
    { name: 'ask', scope: 'tool', allow: ['asked'], decision: 'require_approval', route: APPROVER },
    {
      ...{ name: 'guard', scope: 'tool', allow: ['guarded'], decision: 'deny' },
      conditions: { field: 'ms', op: 'gt', value: 1_000 },
    },
    { name: 'others', scope: 'agent', decision: 'allow' },
  ],
);
let worker: Child;
let tools: Child;

beforeAll(async () => {
  await stand.open({ outlives: true });
  [worker, tools] = await Promise.all([
    stand.sessionWorker(),
    stand.toolWorker(['plain', 'asked', 'guarded', 'brief']),
  ]);
}, LONG);
afterAll(() => stand.close());

const call = (name: string, n: number, more: Partial<Errand> = {}) => ({ tool: name, args: { n, ...more } });
const child = { kind: 'child' } as const;
const begun = (first: number): readonly number[] => stand.begun.filter((n) => n >= first && n < first + 10);
const all = (...numbers: number[]): readonly number[] => numbers;
const told = (first: number) => stand.requests.filter((request) => request.first === first).at(-1)?.results;

async function rows(session: SessionHandle): Promise<readonly LedgerRow[]> {
  return ledgerRows((await stand.audited(session)).view);
}
async function ended(session: SessionHandle): Promise<readonly LedgerRow[]> {
  expect(await session.result()).toMatchObject({ status: 'completed' });
  return rows(session);
}
const wasDoubted = async ({ session }: SessionHandle): Promise<boolean> =>
  (await stand.records(session)).some(({ event }) => event.type === 'tool.indeterminate');

test('1: both rounds do their call at index 0, with the very same arguments', async () => {
  const session = await stand.begin({ rounds: [[call('plain', 10)], [call('plain', 10)]] }, child);
  const ledger = await ended(session);
  expect(begun(10)).toEqual(all(10, 10));
  expect(new Set(stand.executions.filter(({ n }) => n === 10).map(({ key }) => key)).size).toBe(2);
  expect(ledger.map(({ round, index, status }) => [round, index, status])).toEqual([
    [1, 0, 'succeeded'],
    [2, 0, 'succeeded'],
  ]);
});

test('2, 10, 11, 12: who approves what', async () => {
  const wish = { rounds: [[call('asked', 20), call('asked', 21)]] };
  const session = await stand.begin(wish, { ...child, requester: personOf('rita') });
  await until(
    session,
    ({ calls }) => calls.length === 2 && calls.every(({ status }) => status === 'awaiting_approval'),
  );
  const [one, other] = [await stand.asked(session, 0), await stand.asked(session, 1)];
  const refused = (token: string, code: string) =>
    expect(one.handle.approve(token)).rejects.toMatchObject({ code: expect.stringMatching(code) });
  // 10: what somebody said of one set of arguments says nothing of another.
  await refused(approvalOf(other.question, 'ann'), '^receipt_');
  const shown = (await stand.records(session.session)).flatMap(({ event }) =>
    event.type === 'approval.required' ? [event.approval.argsDigest] : [],
  );
  expect(shown).toEqual((await rows(session)).map(({ args_digest: digest }) => digest));
  // 11 and 12.
  await refused(approvalOf(one.question, 'rita'), '^receipt_requester$');
  await refused(approvalOf(one.question, 'mallory'), '^receipt_unknown_key$');
  await refused(approvalOf(one.question, 'ann', { role: AUDITOR }), '^receipt_wrong_role$');
  expect(begun(20)).toEqual([]);
  // 2: it releases its own call.
  await one.handle.approve(approvalOf(one.question, 'ann'));
  const after = await until(session, ({ calls }) => calls[0]?.status === 'succeeded');
  expect([after.calls[1]?.status, begun(20)]).toEqual(['awaiting_approval', [20]]);
  await other.handle.approve(rejectionOf(other.question, 'ann'));
  expect((await ended(session)).map(({ status, error_code: code }) => [status, code])).toEqual([
    ['succeeded', null],
    ['failed', 'approval:denied'],
  ]);
  expect(begun(20)).toEqual([20]);
});

test('13: what a rule that denies cannot judge, it denies', async () => {
  const session = await stand.begin({ rounds: [[call('guarded', 30), call('guarded', 31, { ms: 1 })]] }, child);
  expect((await ended(session)).map(({ error_code: code }) => code)).toEqual(['policy:denied', null]);
  expect(begun(30)).toEqual([31]);
  expect(told(30)).toMatchObject([{ ok: false, value: { code: 'policy:denied' } }, { ok: true }]);
});

test('5: waiting ends at its own deadline, executing at another, and the ledger has both', async () => {
  const session = await stand.begin({ rounds: [[call('brief', 50, { ms: 4_000 }), call('brief', 51)]] }, child);
  const [taken, waited] = await ended(session);
  expect(taken).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect((taken?.completed_at ?? 0) - (taken?.queued_at ?? 0)).toBeGreaterThan(2_500);
  expect(waited).toMatchObject({ status: 'failed', error_code: 'dispatch:capacity_exhausted', dispatched_at: null });
  expect(waited?.completed_at).toBeGreaterThanOrEqual((waited?.queued_at ?? 0) + 2_500);
  expect(begun(50)).toEqual([50]);
});

test('14: after a restart an open question holds up nobody', async () => {
  const session = await stand.begin({ rounds: [[call('asked', 140), call('one-by-one', 141)]] }, child);
  await until(session, ({ calls }) => calls[0]?.status === 'awaiting_approval' && calls[1]?.status === 'queued');
  await worker.kill();
  worker = await stand.sessionWorker({ maxCachedWorkflows: 0 });
  const late = await stand.toolWorker(['one-by-one']);
  const status = await until(session, ({ calls }) => calls[1]?.status === 'succeeded');
  expect(status.calls[0]?.status).toBe('awaiting_approval');
  const { handle, question } = await stand.asked(session, 0);
  await handle.approve(approvalOf(question, 'ann'));
  expect((await ended(session)).map((row) => row.status)).toEqual(['succeeded', 'succeeded']);
  expect(begun(140)).toEqual(all(141, 140));
  // In order, so that its queue does not count its place for the calls of the next test.
  late.signal('SIGTERM');
  await late.exited;
});

test('7: an orderly end of everybody keeps the calls that wait', async () => {
  const first = await stand.toolWorker(['one-by-one']);
  const calls = [call('one-by-one', 70, { until: 'go-7' }), call('one-by-one', 71), call('one-by-one', 72)];
  const session = await stand.begin({ rounds: [calls] }, child);
  await expect.poll(() => begun(70), { timeout: 30_000 }).toEqual([70]);
  first.signal('SIGTERM');
  worker.signal('SIGTERM');
  await worker.exited;
  stand.release('go-7');
  await first.exited;
  worker = await stand.sessionWorker();
  const next = await stand.toolWorker(['one-by-one']);
  expect((await ended(session)).map(({ status, attempt }) => [status, attempt])).toEqual(
    calls.map(() => ['succeeded', 1]),
  );
  expect(begun(70)).toEqual(all(70, 71, 72));
  await next.kill();
});

test(
  '3, 4: what finished while nobody could be told is taken; who comes back goes on',
  { timeout: 120_000 },
  async () => {
    const holder = await stand.toolWorker(['late']);
    const wish = { rounds: [[call('late', 40, { until: 'go-3' }), call('late', 41, { until: 'go-4' })]] };
    const { session } = await stand.begin(wish, child);
    await expect.poll(() => begun(40).length, { timeout: 30_000 }).toBe(2);
    await Promise.all([stand.killServer(), worker.kill()]);
    stand.release('go-3');
    await expect.poll(() => stand.executions.some(({ n, at }) => n === 40 && at === 'end')).toBe(true);
    await stand.restartServer();
    worker = await stand.sessionWorker();
    const handle = stand.sessions.getHandle(session);
    await until(handle, ({ calls }) => calls[0]?.status === 'succeeded', 60_000);
    stand.release('go-4');
    expect((await ended(handle)).map(({ status, attempt }) => [status, attempt])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
    ]);
    expect([...begun(40)].sort()).toEqual(all(40, 41));
    expect(await wasDoubted(handle)).toBe(false);
    expect(told(40)).toEqual([
      { ok: true, value: { did: 40 } },
      { ok: true, value: { did: 41 } },
    ]);
    await Promise.all([holder.kill(), tools.kill()]);
  },
);

test(
  '6, 8, 9, 15: workers that are stopped or killed over tools that say nothing of themselves',
  { timeout: 180_000 },
  async () => {
    const [first, second] = await Promise.all([stand.toolWorker(['stopped']), stand.toolWorker(['killed'])]);
    const wish = { rounds: [[call('stopped', 60, { until: 'go-8' }), call('killed', 61, { until: 'never' })]] };
    const session = await stand.begin(wish, child);
    await expect.poll(() => begun(60).length, { timeout: 30_000 }).toBe(2);
    first.signal('SIGSTOP');
    await second.kill();
    const others = await stand.toolWorker(['stopped', 'killed']);
    // 6: that they are gone is noticed; 9: as of tools that must not be repeated.
    await until(session, ({ calls }) => calls.every(({ status }) => status === 'indeterminate'), 90_000, 500);
    expect((await rows(session)).map((row) => row.side_effect_class)).toEqual(Array(2).fill('non_idempotent_write'));
    // 8: the other worker, which is there, does nothing about it; its owner completes it after all.
    expect([...begun(60)].sort()).toEqual(all(60, 61));
    stand.release('go-8');
    first.signal('SIGCONT');
    await until(session, ({ calls }) => calls[0]?.status === 'succeeded', 60_000);
    const by = stand.executions.filter(({ n }) => n === 60).map(({ at, by: who }) => [at, who]);
    expect(by).toEqual(['start', 'effect', 'end'].map((at) => [at, by[0]?.[1]]));
    // 15
    const { handle, question } = await stand.asked(session, 1);
    expect([...question.resolutions].sort()).toEqual(['abort', 'mark_absent', 'mark_committed', 'reobserve']);
    await handle.resolve(resolutionOf(question, 'ann', { resolution: 'abort' }));
    expect((await ended(session)).map((row) => row.status)).toEqual(['succeeded', 'failed']);
    expect([...begun(60)].sort()).toEqual(all(60, 61));
    expect(await stand.replayed([session])).toMatchObject({ failures: [] });
    await Promise.all([first.kill(), others.kill()]);
  },
);
