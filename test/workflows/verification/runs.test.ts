/**
 * Properties of verification runs on the real server:
 * - a mixed plan runs its own checks, then one specialist after the other, then the coordinator, each launched once on its own receipt.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { useRig } from '../../support/rig';
import { authorizeAll, checks, clientOf, draft, paidLauncher, proposalId, reviewers, WORKFLOWS } from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

const worker = (more: { maxCachedWorkflows?: number } = {}): ReturnType<typeof rig.worker> =>
  rig.worker({ ...more, plugin: { launchers: [paidLauncher(provider.url)], reviewers, checks } });

test('a mixed plan, to its end', async () => {
  await worker();
  const runs = clientOf(rig);
  const handle = await runs.start(await runs.prepare(draft(2, 2)));
  const status = await authorizeAll(rig, handle);
  expect(status).toMatchObject({ phase: 'closed', outcome: 'completed', replayed: false, wants: null });
  expect(status.results.map(({ criterion, outcome }) => `${criterion} ${outcome}`)).toEqual([
    'length-0 conforms',
    'length-1 conforms',
    'style-0 departs',
    'style-1 departs',
  ]);
  expect(status.jobs.map(({ role, state }) => `${role} ${state}`)).toEqual([
    'specialist completed',
    'specialist completed',
    'coordinator completed',
  ]);
  expect(status.proposals).toMatchObject([{ proposal_id: proposalId(2) }, { proposal_id: proposalId(3) }]);
  for (const { job_id } of status.jobs) expect(provider.requests(job_id)).toBe(1);
});
