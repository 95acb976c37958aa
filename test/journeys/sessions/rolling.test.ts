/**
 * Properties of fifty open sessions while the workers of sessions and of tools are replaced one after the other, some shut down, some
 * killed:
 * - no session fails, each comes to the end of its turns, and answers messages that are sent meanwhile;
 * - every call is done exactly once, whichever worker died over it; the model is asked again only for answers that nobody recorded;
 * - every log is one that the rules accept, and every history replays.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Child } from '../../../scripts/kill-matrix/child';
import { SessionStand, wishText } from './stand';
import type { Wish } from './worker-main';

const SESSIONS = 50;
const ROUNDS_A_TURN = 2;
const BETWEEN_MS = 5_000;

const stand = new SessionStand([
  { tool: 'native', sideEffect: 'non_idempotent_write', capacity: 'native', queueWaitMs: 120_000, lookup: true },
  { tool: 'queued', sideEffect: 'non_idempotent_write', capacity: 'queue', queueWaitMs: 120_000, lookup: true },
]);

beforeAll(() => stand.open(), 120_000);
afterAll(() => stand.close());

/** Two calls in each round of a turn, all with numbers of their own. */
function wish(session: number, turn: number): Wish {
  const rounds = Array.from({ length: ROUNDS_A_TURN }, (_round, round) => {
    const n = ((session * 2 + turn) * ROUNDS_A_TURN + round) * 2;
    return [
      { tool: 'native', args: { n, ms: 20 } },
      { tool: 'queued', args: { n: n + 1, ms: 20 } },
    ];
  });
  return { rounds };
}

/** Replaces workers for ever: a new one comes before an old one goes, every second time without a word. */
async function roll(start: () => Promise<Child>, over: () => boolean): Promise<void> {
  let old = await start();
  for (let times = 0; !over(); times += 1) {
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
    const next = await start();
    if (times % 2 === 0) await old.kill();
    else old.signal('SIGTERM');
    old = next;
  }
}

test('a rolling restart under fifty sessions', { timeout: 540_000 }, async () => {
  let over = false;
  const rolling = Promise.all([
    roll(
      () => stand.sessionWorker(),
      () => over,
    ),
    roll(
      () => stand.toolWorker(),
      () => over,
    ),
  ]);
  const numbers = Array.from({ length: SESSIONS }, (_one, session) => session);
  const sessions = await Promise.all(numbers.map((session) => stand.begin(wish(session, 0))));
  await Promise.all(
    sessions.map(async (session, number) => {
      await stand.reaches(session, ({ status, turn }) => status === 'awaiting_input' && turn === 1, 400_000);
      if (number % 5 !== 0) return;
      await session.send(wishText(wish(number, 1)));
      await stand.reaches(session, ({ status, turn }) => status === 'awaiting_input' && turn === 2, 400_000);
    }),
  );
  over = true;
  await rolling;
  const ends = await Promise.all(sessions.map((session) => session.complete()));
  expect(ends.map(({ status, failure }) => [status, failure])).toEqual(numbers.map(() => ['completed', null]));
  const turns = (number: number): readonly number[] => (number % 5 === 0 ? [0, 1] : [0]);
  const wanted = numbers.flatMap((number) => turns(number).flatMap((turn) => wish(number, turn).rounds.flat()));
  const done = stand.executions.filter(({ at }) => at === 'end').map(({ n }) => n);
  expect([...done].sort((a, b) => a - b)).toEqual(wanted.map(({ args: { n } }) => n).sort((a, b) => a - b));
  for (const [number, session] of sessions.entries()) {
    const { view } = await stand.audited(session);
    expect([...view.calls.values()].map(({ status }) => status)).toEqual(
      Array(turns(number).length * ROUNDS_A_TURN * 2).fill('succeeded'),
    );
  }
  expect(await stand.replayed(sessions)).toMatchObject({ failures: [] });
});
