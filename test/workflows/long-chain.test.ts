/**
 * Property of a chain whose witnesses are too large for one activity result: a run that has not seen it takes it over piece by
 * piece, comes to the same head, and answers and ends as the first one would have.
 */
import { expect, test } from 'vitest';
import type { PlanOutcome, PlanStatus } from '../../src/client';
import { effectRecords } from '../../src/rules/plans/plan';
import { useRig } from '../support/rig';
import { parkedFor } from './scenarios/support';

const rig = useRig();
const EFFECTS = 300;
/** Odd, so that the last look before the reset found something else than the run after it will. */
const REVIEWS = 17;

test('a reset run, a preview and an end', async () => {
  await rig.worker();
  const modes = [...Array.from({ length: EFFECTS }, () => 'lookup' as const), 'blind' as const];
  const plan = await rig.prepare(modes);
  rig.sinks.faults.programme([{ fault: 'drop_reply', key: effectRecords(plan).at(-1)?.idempotencyKey ?? '' }]);
  const handle = await rig.plans.start(plan);
  await rig.until(handle, parkedFor('ambiguous_effect'));
  // Only a look that finds something new is recorded: every other one finds another operation under the first key.
  const first = effectRecords(plan)[0]?.idempotencyKey ?? '';
  for (let reviews = 0; reviews < REVIEWS; reviews += 1) {
    if (reviews % 2 === 0) rig.sinks.faults.programme([{ fault: 'wrong_digest', key: first }]);
    await handle.reobserve();
  }
  const before = await handle.status();

  const second = await rig.reset(handle);
  const status = (): Promise<PlanStatus> => second.query<PlanStatus>('status');
  await expect.poll(async () => (await status()).state, { timeout: 60_000 }).toBe('parked');
  const states = ({ effects }: PlanStatus): readonly string[] => effects.map(({ state }) => state);
  expect(states(await status())).toEqual(states(before));
  expect((await status()).head?.sequence).toBeGreaterThan(before.head?.sequence ?? Infinity);
  const { events } = await rig.historyOf({ workflow: second as never });
  const sizes = events.flatMap((event) =>
    event.eventType === 'EVENT_TYPE_ACTIVITY_TASK_COMPLETED' ? [size(event)] : [],
  );
  expect(sizes.reduce((sum, one) => sum + one)).toBeGreaterThan(512 * 1024);
  expect(Math.max(...sizes)).toBeLessThan(600 * 1024);

  expect(await rig.plans.preview(plan)).toMatchObject({ status: 'previewed' });
  await second.executeUpdate('cancel');
  expect(await second.result()).toMatchObject({ status: 'cancelled', replayed: false } satisfies Partial<PlanOutcome>);
  expect(rig.sinks.counts()).toMatchObject({ writes: EFFECTS + 1, received: EFFECTS + 1 });
});

const size = (event: unknown): number => JSON.stringify(event).length * 0.75; // base64
