/**
 * `ls` on a real server.
 *
 * Held here:
 * - a plan that waits for a person is parked with its reason and since when, also when no worker is left; looked at again
 *   without getting further, it has been parked since the first time; one that meanwhile waits for its sink is running;
 * - a plan that no worker takes is stale once it has waited for longer than allowed, running before; a closed plan is not listed;
 * - the listing can be narrowed and limited, and says so; it asks no workflow, and changes none.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { PlanHandle } from '../../src/client';
import { useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { answerOf, cli } from './support';

const rig = useRig();
beforeEach(() => void (process.env['TEMPORAL_ADDRESS'] = temporalAddress()));

interface Row {
  readonly run_id: string;
  readonly state: string;
  readonly since: string;
  readonly age_ms: number;
}

async function rowOf(handle: PlanHandle, ...args: readonly string[]): Promise<Row | null> {
  const answer = answerOf(await cli('ls', '--json', ...args));
  expect(answer).toMatchObject({ ok: true, data: { namespace: 'default' } });
  return (answer.data?.['plans'] as Row[]).find((row) => row.run_id === handle.runId) ?? null;
}

describe('ls', () => {
  it('shows what is parked, why and since when', async () => {
    const worker = await rig.worker();
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const before = Date.now() - 1_000;
    const handle = await rig.start(['lookup', 'lookup']);
    const parked = await rig.until(handle, ({ state }) => state === 'parked');
    const row = await rowOf(handle);
    expect(row).toMatchObject({
      state: 'parked',
      reason: 'effect_mismatch',
      committed: '0/2',
      task_queue: rig.taskQueue,
      workflow_id: handle.workflowId,
      since: new Date(parked.parked_at ?? 0).toISOString(),
    });
    expect(parked.parked_at).toBeGreaterThanOrEqual(before);
    expect(row?.age_ms).toBeLessThan(60_000);

    await handle.reobserve();
    await worker.stop();
    expect(await rowOf(handle, '--stale-after', '0')).toMatchObject({ state: 'parked', since: row?.since });
    const told = await cli('ls', '--only', 'parked');
    expect(told.code).toBe(0);
    expect(told.out).toMatch(/^namespace default: \d+ plans?: \d+ stale, \d+ parked, \d+ running$/m);
    expect(told.out).toMatch(new RegExp(`^parked +\\d+ \\w+ +effect_mismatch +0/2 +${handle.runId}`, 'm'));

    await rig.worker();
    rig.sinks.faults.clear();
    rig.sinks.faults.programme([{ fault: 'in_flight', times: 3 }]);
    const asking = handle.reobserve();
    await rig.until(handle, ({ state }) => state === 'waiting');
    expect(await rowOf(handle)).toMatchObject({ state: 'running', reason: null, committed: '0/2' });
    await asking;
    await handle.result();
    expect(await rowOf(handle)).toBeNull();
  });

  it('shows what no worker takes', async () => {
    const handle = await rig.start(['lookup']);
    expect(await rowOf(handle)).toMatchObject({ state: 'running' });
    await expect.poll(() => rowOf(handle, '--stale-after', '0')).toMatchObject({ state: 'stale', reason: 'no_worker' });
    expect(await rowOf(handle, '--stale-after', '0', '--only', 'parked')).toBeNull();
    const limited = answerOf(await cli('ls', '--json', '--limit', '0'));
    expect(limited).toMatchObject({ ok: true, data: { plans: [], more: true } });
    await rig.worker();
    await handle.result();
    expect(await rowOf(handle, '--stale-after', '0')).toBeNull();
  });

  it('refuses what it cannot read', async () => {
    expect(await cli('ls', '--only', 'lost')).toMatchObject({ code: 2 });
    expect(await cli('ls', '--stale-after', 'soon')).toMatchObject({ code: 2 });
    process.env['TEMPORAL_ADDRESS'] = '127.0.0.1:1';
    expect(await cli('ls')).toMatchObject({ code: 1 });
  });
});
