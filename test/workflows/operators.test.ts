/**
 * Properties of what operators do to a plan that is in the middle of a send, as docs/operations.md promises:
 * - `temporal activity reset` and `pause` let the effect in hand end, and no effect is sent twice or left out;
 * - a terminated plan sends nothing after the effect in hand; asked for again, it goes on from the journal, each effect once.
 */
import { expect, test } from 'vitest';
import type { GovernedPlan, PlanHandle } from '../../src/client';
import { useRig } from '../support/rig';

const rig = useRig({ sink: { deadlineMs: 10_000, settleMs: 200 } });
const EFFECTS = ['lookup', 'enforcing', 'lookup'] as const;
const ONCE = { writes: EFFECTS.length, received: EFFECTS.length };

type Operator = (handle: PlanHandle) => Promise<unknown>;

/** The operator acts while the first effect is at its sink, which lets it go only when the drive knows. */
async function whileInHand(operator: Operator): Promise<{ plan: GovernedPlan; handle: PlanHandle }> {
  let told: () => void = () => undefined;
  const knows = new Promise<void>((resolve) => (told = resolve));
  const activity = [
    ({ cancellationSignal }: { cancellationSignal: AbortSignal }) => {
      cancellationSignal.addEventListener('abort', told);
      return {};
    },
  ];
  await rig.worker({ interceptors: { activity } });
  rig.sinks.faults.programme([{ fault: 'hold_before' }]);
  const plan = await rig.prepare(EFFECTS);
  const handle = await rig.plans.start(plan);
  await expect.poll(() => rig.sinks.counts().received, { timeout: 20_000 }).toBe(1);
  await operator(handle);
  await knows;
  rig.sinks.faults.release('*');
  return { plan, handle };
}

async function pending({ workflow, workflowId }: PlanHandle) {
  const { raw } = await workflow.describe();
  const { namespace } = rig.temporal;
  return { namespace, execution: { workflowId }, id: raw.pendingActivities?.[0]?.activityId ?? '' };
}

test.each<[string, Operator]>([
  ['reset', async (handle) => rig.client.workflowService.resetActivity(await pending(handle))],
  ['paused', async (handle) => rig.client.workflowService.pauseActivity(await pending(handle))],
])('a drive that is %s ends the effect in hand, and the plan goes on, each effect once', async (_how, operator) => {
  const { handle } = await whileInHand(operator);
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(rig.sinks.counts()).toMatchObject(ONCE);
});

test('a terminated plan sends no more, and goes on when it is asked for again', async () => {
  const { plan } = await whileInHand(({ workflow }) => workflow.terminate('an operator'));
  await expect.poll(() => rig.sinks.counts().writes, { timeout: 20_000 }).toBe(1);
  expect(rig.sinks.counts().received).toBe(1);
  expect(await (await rig.plans.start(plan)).result()).toMatchObject({ status: 'completed' });
  expect(rig.sinks.counts()).toMatchObject(ONCE);
});
