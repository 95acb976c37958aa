/**
 * Properties of launches and of verification runs whose Temporal server is killed, and comes back with what it had, while the provider
 * works: the launch comes to what the worker submitted meanwhile, the run goes on to its end, and each job has had one request.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { startDevServer, type DevServer } from '../../../src/testing/dev-server';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { useRig } from '../../support/rig';
import { temporalCli } from '../../support/temporal';
import { authorizedStart } from '../launches/support';
import { authorizeAll, checks, clientOf, draft, historyOf, paidLauncher, reviewers, WORKFLOWS } from './support';

const folder = mkdtempSync(path.join(os.tmpdir(), 'server-restart-'));
const dbFile = path.join(folder, 'temporal.db');
let server: DevServer;

async function serve(port?: number): Promise<string> {
  const dynamicConfig = { 'history.transferProcessorMaxPollRPS': 10_000 };
  server = await startDevServer({
    executable: temporalCli(),
    dbFile,
    dynamicConfig,
    ...(port === undefined ? {} : { port }),
  });
  return server.address;
}

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});
const rig = useRig({ workflowsPath: WORKFLOWS, address: () => serve() });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
  provider.mode = 'holds';
  await rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers, checks } });
});
afterEach(() => provider.close());

/** While it is gone the provider answers, so that what the worker submits is stored, and heard of only later. */
async function restartWhileHeld(): Promise<void> {
  await provider.arrived(1);
  await server.kill();
  provider.release();
  provider.mode = 'answers';
  await serve(server.port);
}

test('a launch', async () => {
  const started = await authorizedStart(rig, { launchLeaseMs: 60_000 });
  await restartWhileHeld();
  expect(await started.result()).toMatchObject({ status: 'submission', replayed: false });
  expect(provider.requests()).toBe(1);
});

test('a run', async () => {
  const runs = clientOf(rig);
  const prepared = await runs.prepare(draft(1, 2));
  const handle = await runs.start(prepared, { launchLeaseMs: 60_000 });
  const ending = authorizeAll(rig, handle);
  await restartWhileHeld();
  const { outcome, jobs } = await ending;
  expect(outcome).toBe('completed');
  expect(jobs.map(({ job_id }) => provider.requests(job_id))).toEqual([1, 1, 1]);
  await historyOf(rig, prepared.runId);
});
