/**
 * Properties of calls of which nobody knows what became, because their worker was killed by SIGKILL in the middle; of a tool with a queue
 * and of one without, a `non_idempotent_write` and an `irreversible_action`:
 * - each is indeterminate, has an open review, and is not executed again until a person decides, though another worker is there;
 * - each of the four words of a person does what it says, to its own call alone: `mark_succeeded` and `mark_failed` end it without another
 *   execution; `redispatch` has it executed once more under the same key; `reobserve` finds what had happened, and settles it;
 * - a result that a person puts beside `mark_succeeded`, and a reason beside `mark_failed`, are what the model is told; content that is no
 *   result of that very call is refused at the door;
 * - the model is told how each ended, in the order of its calls; the log has the ground of every end, is one that the rules accept,
 *   verifies strictly with everything else, and the history replays.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Contents } from '../../../src/activities/contents';
import { Journal } from '../../../src/activities/journal';
import type { SessionHandle } from '../../../src/client';
import { ledgerRows } from '../../../src/rules/invocations/ledger';
import type { CallResolution } from '../../../src/rules/invocations/vocabulary';
import { effectRecords, type GovernedPlan } from '../../../src/rules/plans/plan';
import { storeView, verifyJournal } from '../../../src/verify';
import { until } from '../../sessions/support';
import { resolutionOf } from '../../support/reviewers';
import { SessionStand } from './stand';
import type { Errand, ToolOrders } from './worker-main';

const DARK = 'dark';
const GO = 'go';
const CLASSES = ['non_idempotent_write', 'irreversible_action'] as const;
/** Of each class a tool that nobody can look up, and one whose look-up finds out nothing for a while. */
const TOOLS = CLASSES.flatMap((sideEffect): readonly ToolOrders[] => {
  const capacity = sideEffect === 'irreversible_action' ? 'native' : 'queue';
  const common = { sideEffect, capacity, queueWaitMs: 120_000 } as const;
  const tool = sideEffect.slice(0, 3);
  return [
    { ...common, tool },
    { ...common, tool: `${tool}-looked-up`, lookup: true, dim: DARK },
  ];
});
const stand = new SessionStand(TOOLS);

beforeAll(() => stand.open(), 120_000);
afterAll(() => stand.close());

/** What each call does before its worker dies, what is said of it, and how its log ends then. */
const WORDS = {
  mark_succeeded: { errand: { until: GO }, ends: ['succeeded', 'resolution', 1] },
  mark_failed: { errand: { until: GO }, ends: ['failed', 'resolution', 1] },
  redispatch: { errand: { until: GO }, ends: ['succeeded', 'result', 2] },
  reobserve: { errand: { after: GO }, ends: ['succeeded', 'looked_up', 1] },
} as const satisfies Record<CallResolution, { errand: Partial<Errand>; ends: readonly unknown[] }>;
const NAMES = Object.keys(WORDS) as CallResolution[];
const CALLS = CLASSES.flatMap((sideEffect) =>
  NAMES.map((word) => {
    const looks = word === 'reobserve';
    const { tool } = TOOLS.find(
      (one) => one.sideEffect === sideEffect && (one.lookup === true) === looks,
    ) as ToolOrders;
    return { tool, word };
  }),
);

/** What a person says that the payment gave: the model is told that, and nothing else. */
const RESULT = { receipt: 'r-77', amount: 12.5 };
const REASON = 'card_declined';
/** What the model is told of each. `did`: by the handler, or by the look-up. */
const TOLD = {
  mark_succeeded: () => ({ ok: true, value: RESULT }),
  mark_failed: () => ({
    ok: false,
    value: { code: `mark_failed:${REASON}`, message: 'a person has looked, and says that it failed' },
  }),
  redispatch: (n) => ({ ok: true, value: { did: n } }),
  reobserve: (n) => ({ ok: true, value: { did: n } }),
} as const satisfies Record<CallResolution, (n: number) => unknown>;

async function resolve(session: SessionHandle, index: number, word: CallResolution): Promise<void> {
  const { handle, question } = await stand.asked(session, index);
  const { doubtful: actionIds, runId } = question;
  const plan = (await new Journal(stand.store).plan(runId)) as GovernedPlan;
  const contents = new Contents(stand.contents);
  const [{ idempotencyKey: key } = { idempotencyKey: '' }] = effectRecords(plan);
  if (word === 'mark_succeeded') {
    // Content of somebody else, of the same run but no result of this effect, or that nobody put anywhere.
    const strange = [
      await contents.putContent(RESULT),
      await contents.putResult(runId, `key_${'0'.repeat(32)}`, RESULT),
      `sha256:${'0'.repeat(64)}`,
    ];
    for (const resultDigest of strange) {
      const token = resolutionOf(question, 'ann', { resolution: 'mark_committed', actionIds, resultDigest });
      await expect(handle.resolve(token)).rejects.toThrow('is no result of this effect in the content store');
    }
  }
  const resultDigest = word === 'mark_succeeded' ? await contents.putResult(runId, key, RESULT) : key;
  const token = {
    mark_succeeded: () =>
      resolutionOf(question, 'ann', { resolution: 'mark_committed', actionIds, externalId: 'seen', resultDigest }),
    mark_failed: () => resolutionOf(question, 'ann', { resolution: 'abort', reason: REASON }),
    redispatch: () => resolutionOf(question, 'ann', { resolution: 'mark_absent', actionIds }),
    reobserve: () => resolutionOf(question, 'ann', { resolution: 'reobserve' }),
  } satisfies Record<CallResolution, () => string>;
  await handle.resolve(token[word]());
}

test('four words about calls that were cut off', { timeout: 240_000 }, async () => {
  const [sessions, tools] = await Promise.all([stand.sessionWorker(), stand.toolWorker()]);
  const calls = CALLS.map(({ tool, word }, n) => ({ tool, args: { n, ...WORDS[word].errand } }));
  const session = await stand.begin({ rounds: [calls] }, { kind: 'child' });
  const all = CALLS.map((_call, n) => n);
  await expect.poll(() => [...stand.begun].sort(), { timeout: 60_000 }).toEqual(all);
  await expect.poll(() => stand.executions.filter(({ at }) => at === 'effect').length, { timeout: 20_000 }).toBe(2);
  stand.release(DARK);
  await tools.kill();
  stand.release(GO);
  const heir = await stand.toolWorker();
  const doubted = await until(session, ({ status }) => status === 'awaiting_approval', 120_000, 500);
  expect(doubted.calls.map(({ status }) => status)).toEqual(all.map(() => 'indeterminate'));
  for (const index of all) expect((await stand.asked(session, index)).question.doubtful).toHaveLength(1);
  expect([...stand.begun].sort()).toEqual(all);

  stand.takeBack(DARK);
  const open = new Set(all);
  for (const [index, { word }] of CALLS.entries()) {
    await resolve(session, index, word);
    open.delete(index);
    // Nobody has said anything about the others.
    await until(
      session,
      ({ status, calls: now }) =>
        status === 'completed' || now.every((call, n) => (call.status === 'indeterminate') === open.has(n)),
      60_000,
    );
  }
  expect(await session.result()).toMatchObject({ status: 'completed' });
  const again = CALLS.flatMap(({ word }, n) => (word === 'redispatch' ? [n] : []));
  expect(stand.begun.slice(all.length)).toEqual(again);
  for (const number of again) {
    expect(new Set(stand.executions.filter(({ n }) => n === number).map(({ key }) => key)).size).toBe(1);
  }

  const { view } = await stand.audited(session);
  const records = await stand.records(session.session);
  const ends = CALLS.map((_call, index) => {
    const call = [...view.calls.values()][index];
    const ground = records.flatMap(({ event }) =>
      event.type === 'tool.completed' && event.callId === call?.callId ? [event.ground] : [],
    )[0];
    return [call?.status, ground, call?.attempt];
  });
  expect(ends).toEqual(CALLS.map(({ word }) => WORDS[word].ends));
  expect(stand.requests.at(-1)?.results).toEqual(CALLS.map(({ word }, n) => TOLD[word](n)));
  const rows = ledgerRows(view);
  for (const [index, { word }] of CALLS.entries()) {
    const { result_digest: digest, error_code: code } = rows[index] as (typeof rows)[number];
    expect(code).toBe(word === 'mark_failed' ? `mark_failed:${REASON}` : null);
    if (word === 'mark_succeeded') expect(await new Contents(stand.contents).content(digest ?? '')).toEqual(RESULT);
  }
  expect(await verifyJournal(storeView(stand.store), { strict: true })).toMatchObject({ ok: true, findings: [] });
  expect(await stand.replayed([session])).toMatchObject({ failures: [] });
  await Promise.all([sessions.kill(), heir.kill()]);
});
