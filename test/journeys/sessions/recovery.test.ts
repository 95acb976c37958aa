/**
 * Properties of sessions whose workers die, on a real server with real processes killed by SIGKILL:
 * - a worker that dies after an answer of the model was recorded, or after its calls were made plans of, does not make anybody ask the
 *   model again: each round is asked for once, and each call is done once;
 * - one that dies before the answer is recorded makes it be asked again, and nothing that was not recorded is done;
 * - five calls of one answer that no worker took are done once each, in their order, after the server, its workers and all else were
 *   killed and one worker came;
 * - cancelled while nobody was there to hear it, a session begins no call after its recovery, in a queue or out of it, also when the
 *   workers of its tools come back; its log says that none was sent;
 * - a call under way when its session is cancelled is finished, and the log says what became of it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../sessions/support';
import { SessionStand } from './stand';

const LOOKED_UP = 'look-up';
const QUEUED = 'queued';
const BOTH = [LOOKED_UP, QUEUED];
/** Has no worker but in its own test: its queue takes one that was killed for one that is there until it is found out. */
const ONE_BY_ONE = 'one-by-one';
const stand = new SessionStand([
  { tool: LOOKED_UP, sideEffect: 'non_idempotent_write', capacity: 'native', queueWaitMs: 120_000, lookup: true },
  { tool: QUEUED, sideEffect: 'non_idempotent_write', capacity: 'queue', queueWaitMs: 120_000, lookup: true },
  { tool: ONE_BY_ONE, sideEffect: 'irreversible_action', capacity: 'queue', queueWaitMs: 120_000, slots: 1 },
]);

beforeAll(() => stand.open({ outlives: true }), 120_000);
afterAll(() => stand.close());

const both = (first: number) => [
  { tool: LOOKED_UP, args: { n: first } },
  { tool: QUEUED, args: { n: first + 1 } },
];

test.each([
  ['model_answered', 100, [1, 1, 2, 3]],
  ['round_recorded', 200, [1, 2, 3]],
  ['call_planned', 300, [1, 2, 3]],
] as const)('a worker dies at %s', { timeout: 120_000 }, async (dieAt, first, rounds) => {
  const dying = await stand.sessionWorker({ dieAt });
  const tools = await stand.toolWorker(BOTH);
  const session = await stand.begin({ rounds: [both(first), both(first + 2)] }, { kind: 'child' });
  await dying.exited;
  const heir = await stand.sessionWorker();
  expect(await session.result()).toMatchObject({ status: 'completed' });
  const asked = stand.requests.filter((request) => request.first === first).map(({ round }) => round);
  expect(asked).toEqual(rounds);
  const done = stand.begun.filter((n) => n >= first && n < first + 100);
  expect([...done].sort()).toEqual([first, first + 1, first + 2, first + 3]);
  const { view } = await stand.audited(session);
  expect([...view.calls.values()].map(({ status }) => status)).toEqual(Array(4).fill('succeeded'));
  expect(await stand.replayed([session])).toMatchObject({ failures: [] });
  await Promise.all([heir.kill(), tools.kill()]);
});

test('five calls that nobody took', { timeout: 120_000 }, async () => {
  const before = await stand.sessionWorker();
  const numbers = [600, 601, 602, 603, 604];
  const { session, ...handle } = await stand.begin({
    rounds: [numbers.map((n) => ({ tool: ONE_BY_ONE, args: { n } }))],
  });
  await until(
    { session, ...handle },
    ({ calls }) => calls.length === 5 && calls.every((one) => one.status === 'queued'),
  );
  await Promise.all([before.kill(), stand.killServer()]);
  await stand.restartServer();
  const [after, tools] = [await stand.sessionWorker(), await stand.toolWorker([ONE_BY_ONE])];
  const again = stand.sessions.getHandle(session);
  await until(again, ({ status }) => status === 'awaiting_input');
  expect(stand.begun.filter((n) => n >= 600)).toEqual(numbers);
  const { view } = await stand.audited(again);
  expect([...view.calls.values()].map(({ status, attempt }) => [status, attempt])).toEqual(
    numbers.map(() => ['succeeded', 1]),
  );
  expect(await stand.replayed([again])).toMatchObject({ failures: [] });
  await Promise.all([after.kill(), tools.kill()]);
});

test('cancelled while it recovers', { timeout: 120_000 }, async () => {
  const before = await stand.sessionWorker();
  const session = await stand.begin({ rounds: [[...both(400), ...both(402)]] });
  await until(session, ({ calls }) => calls.length === 4 && calls.every(({ status }) => status === 'queued'));
  await before.kill();
  const cancelled = session.cancel();
  const after = await stand.sessionWorker({ maxCachedWorkflows: 0 });
  expect(await cancelled).toMatchObject({ status: 'cancelled' });
  const tools = await stand.toolWorker(BOTH);
  // Another session of the same tools shows that they are at work.
  const other = await stand.begin({ rounds: [both(450)] }, { kind: 'child' });
  expect(await other.result()).toMatchObject({ status: 'completed' });
  expect(stand.begun.filter((n) => n >= 400 && n < 450)).toEqual([]);
  const { view } = await stand.audited(session);
  expect(view.status).toBe('cancelled');
  expect([...view.calls.values()].map(({ status, errorCode, attempt }) => [status, errorCode, attempt])).toEqual(
    Array(4).fill(['failed', 'session:cancelled', 0]),
  );
  expect(await stand.replayed([session, other])).toMatchObject({ failures: [] });
  await Promise.all([after.kill(), tools.kill()]);
});

test('what is under way is finished', { timeout: 120_000 }, async () => {
  const [worker, tools] = await Promise.all([stand.sessionWorker(), stand.toolWorker(BOTH)]);
  const waiting = { n: 500, until: 'go-on' };
  const session = await stand.begin({
    rounds: [
      [
        { tool: LOOKED_UP, args: waiting },
        { tool: QUEUED, args: { ...waiting, n: 501 } },
      ],
    ],
  });
  await expect.poll(() => stand.begun.filter((n) => n >= 500 && n < 600), { timeout: 30_000 }).toHaveLength(2);
  const cancelled = session.cancel();
  await until(session, ({ status }) => status === 'awaiting_tool');
  stand.release('go-on');
  expect(await cancelled).toMatchObject({ status: 'cancelled' });
  const { view } = await stand.audited(session);
  expect([...view.calls.values()].map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  expect(stand.begun.filter((n) => n >= 500 && n < 600)).toHaveLength(2);
  expect(await stand.replayed([session])).toMatchObject({ failures: [] });
  await Promise.all([worker.kill(), tools.kill()]);
});
