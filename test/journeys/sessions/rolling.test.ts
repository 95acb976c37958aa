/**
 * Properties of fifty open sessions while the workers of sessions and of tools are replaced one after the other, some shut down, some
 * killed:
 * - no session fails, each comes to the end of its turns, answers messages that are sent meanwhile, and can be completed;
 * - every call is done exactly once, whichever worker died over it;
 * - every log is one that the rules accept, and every history replays.
 *
 * Workers are replaced by what has been done, not by the clock: however slow the machine, there are as many of them.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Child } from '../../../scripts/kill-matrix/child';
import type { SessionHandle, ToolSessionStatus } from '../../../src/client';
import { SessionStand, wishText } from './stand';
import type { Wish } from './worker-main';

const SESSIONS = 50;
const ROUNDS_A_TURN = 2;
/** Executions that begin between two replacements of workers of a kind, among the 240 that there are. */
const APART = 30;
const LAST = 225;

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

/** Every fifth session hears a second message. */
const turnsOf = (number: number): readonly number[] => (number % 5 === 0 ? [0, 1] : [0]);

type Life = readonly [session: SessionHandle, end: ToolSessionStatus];

/** Replaces a worker whenever so many more executions have begun: a new one comes before the old one goes, every second time at once. */
async function roll(first: number, start: () => Promise<Child>, stop: AbortSignal): Promise<null> {
  let old = await start();
  for (let [mark, kills] = [first, true]; mark <= LAST; mark += APART, kills = !kills) {
    await stand.begins(mark, stop);
    const next = await start();
    if (kills) await old.kill();
    else old.signal('SIGTERM');
    old = next;
  }
  return null;
}

async function live(number: number, stop: AbortSignal): Promise<Life> {
  const session = await stand.begin(wish(number, 0));
  for (const turn of turnsOf(number)) {
    if (turn > 0) await session.send(wishText(wish(number, turn)));
    await stand.reaches(session, (view) => view.status === 'awaiting_input' && view.turn === turn + 1, stop);
  }
  return [session, await session.complete()];
}

// The limits are for what hangs: on a machine of its own all this takes a sixth of them.
test('a rolling restart under fifty sessions', { timeout: 900_000 }, async () => {
  const numbers = Array.from({ length: SESSIONS }, (_one, session) => session);
  const parts = await stand.together<Life | null>(800_000, (stop) => [
    roll(APART / 2, () => stand.sessionWorker(), stop),
    roll(APART, () => stand.toolWorker(), stop),
    ...numbers.map((number) => live(number, stop)),
  ]);
  const lives = parts.filter((part) => part !== null);
  expect(lives.map(([, { status, failure }]) => [status, failure])).toEqual(numbers.map(() => ['completed', null]));
  const wanted = numbers.flatMap((number) => turnsOf(number).flatMap((turn) => wish(number, turn).rounds.flat()));
  const done = stand.executions.filter(({ at }) => at === 'end').map(({ n }) => n);
  expect([...done].sort((a, b) => a - b)).toEqual(wanted.map(({ args: { n } }) => n).sort((a, b) => a - b));
  const sessions = lives.map(([session]) => session);
  for (const [number, session] of sessions.entries()) {
    const { view } = await stand.audited(session);
    expect([...view.calls.values()].map(({ status }) => status)).toEqual(
      Array(turnsOf(number).length * ROUNDS_A_TURN * 2).fill('succeeded'),
    );
  }
  expect(await stand.replayed(sessions)).toMatchObject({ failures: [] });
});
