/**
 * Properties of `countersign.drive` when a stranger calls it with a valid request, as a standalone activity or from another
 * workflow: whatever state the run is in, nothing changes in journal, contents or sink, and the caller is told why.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { DRIVE_ACTIVITY, type DriveIntent, type DriveRequest, type DriveResult } from '../../src/activities/contract';
import type { GovernedPlan, PlanHandle } from '../../src/client';
import { planToRecord } from '../../src/rules/plans/plan';
import { useRig, type Rig } from '../support/rig';
import { parkedFor } from './scenarios/support';

const rig = useRig({ workflowsPath: path.join(__dirname, 'stranger-workflows.ts'), sink: { deadlineMs: 20_000 } });

type State = 'unknown' | 'in flight' | 'parked' | 'completed';

/** Brings a run into a state and leaves it there. */
const BRING: Record<State, (rig: Rig, plan: GovernedPlan) => Promise<PlanHandle | null>> = {
  unknown: async () => null,
  'in flight': async (rig, plan) => {
    rig.sinks.faults.programme([{ fault: 'hold_before' }]);
    const handle = await rig.plans.start(plan);
    await rig.sinks.arrivals.wait('held', '*', 1, 60_000);
    return handle;
  },
  parked: async (rig, plan) => {
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const handle = await rig.plans.start(plan);
    await rig.until(handle, parkedFor('effect_mismatch'));
    return handle;
  },
  completed: async (rig, plan) => {
    const handle = await rig.plans.start(plan);
    await handle.result();
    return handle;
  },
};

async function everything(folder: string): Promise<Readonly<Record<string, string>>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const texts = await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const));
  return Object.fromEntries(texts);
}

async function requests(plan: GovernedPlan, handle: PlanHandle | null): Promise<readonly DriveRequest[]> {
  const journals = [null, rig.journalId];
  const heads = [null, handle === null ? null : (await handle.status()).head];
  return (['drive', 'cancel', 'follow'] as const satisfies readonly DriveIntent[]).flatMap((intent) =>
    journals.flatMap((journal_id) =>
      [...new Set(heads)].map((expected_head) => ({
        ...{ run_id: plan.runId, lineage: 1, intent, plan: planToRecord(plan), journal_id, expected_head },
        ...{ epoch: null, reclaim: true, waited: [[0, 1, 1e9] as const] },
      })),
    ),
  );
}

const CALL: Record<string, (rig: Rig, id: string, request: DriveRequest) => Promise<DriveResult>> = {
  'a standalone activity': (rig, id, request) =>
    rig.client.activity.execute<DriveResult>(DRIVE_ACTIVITY, {
      ...{
        id,
        taskQueue: rig.taskQueue,
        args: [request],
        startToCloseTimeout: '30 seconds',
        retry: { maximumAttempts: 1 },
      },
    }),
  'another workflow': (rig, id, request) =>
    rig.client.workflow.execute('stranger', { workflowId: id, taskQueue: rig.taskQueue, args: [request] }),
};

describe.each(Object.entries(CALL))('%s', (name, call) => {
  test.each(Object.entries(BRING))('of a run that is %s', async (_state, bring) => {
    await rig.worker();
    const plan = await rig.prepare(['lookup', 'enforcing']);
    const handle = await bring(rig, plan);
    const [journal, counts] = [await everything(rig.folder), rig.sinks.counts().received];
    const asked = await requests(plan, handle);
    for (const [index, request] of asked.entries()) {
      const result = await call(rig, `${name} ${index} ${rig.taskQueue}`, request);
      expect(result).toMatchObject({ status: 'refused', code: 'not_the_plans_workflow', steps: [], head: null });
    }
    expect(await everything(rig.folder)).toEqual(journal);
    expect(rig.sinks.counts().received).toBe(counts);
    rig.expectedFailures = ({ workflowId }) => workflowId.startsWith(name);
  });
});
