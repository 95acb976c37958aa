/**
 * Records the histories of plans that people decided about, of this version, under `test/histories/<version>/people`, with their
 * journal. Run it after `record-histories`, which clears the folder of the version. Every key in them is made up here.
 */
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { CountersignPlugin, type ApprovalRule } from '../src';
import { fileStore } from '../src/adapters/stores';
import { PlanClient, type PlanHandle, type Question } from '../src/client';
import { initJournal } from '../src/journal-init';
import { countingSink, recordHistory, startCountingServer, type CountingMode, type Fault } from '../src/testing';
import { startDevServer } from '../src/testing/dev-server';
import { AUDITOR, TestReviewers, approvalOf, rejectionOf, resolutionOf } from '../test/support/reviewers';
import { REPOSITORY } from './dev/repository';
import { ensureTemporalCli } from './dev/temporal-cli';
import { withoutMachine } from './dev/without-machine';

const { version } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
const HISTORIES = path.join(REPOSITORY, 'test', 'histories', version, 'people');
const IDENTITY = 'countersign@recording';
const TASK_QUEUE = 'recording';
/** Few enough that a plan that is asked a few times continues as new. */
const EVENTS_BEFORE_RENEWAL = 60;
/** Planted in every operation; no history may hold it. */
const CONTENT = 'planted-operation-content';

const toolId = (mode: CountingMode): string => `tool:example.org/${mode}@1.0.0`;

/** The rule of every plan is in the name of its story. */
const RULES: Record<string, ApprovalRule | null> = {
  approved: { approvals: 2 },
  denied: { approvals: 2 },
  'too-late': { approvals: 1, deadline: { afterMs: 1_500, then: 'deny' } },
  escalated: {
    approvals: 1,
    roles: ['role:example.org/approver'],
    deadline: { afterMs: 1_500, then: { escalate: AUDITOR } },
  },
  'answered-and-continued': { approvals: 2 },
  reopened: { approvals: 1 },
  'marked-absent': null,
  'ended-by-a-person': null,
};

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { path: executable } = await ensureTemporalCli({});
  const server = await startDevServer({
    executable,
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': EVENTS_BEFORE_RENEWAL },
  });
  const sinks = await startCountingServer();
  const folder = await mkdtemp(path.join(tmpdir(), 'record-histories-'));
  const connection = await Connection.connect({ address: server.address });
  const native = await NativeConnection.connect({ address: server.address });
  const [store, contents] = ['journal', 'contents'].map((name) =>
    fileStore(path.join(folder, name), { createRoot: true }),
  ) as [ReturnType<typeof fileStore>, ReturnType<typeof fileStore>];
  await initJournal(store);
  const reviewers = new TestReviewers();
  const worker = await Worker.create({
    ...{ connection: native, taskQueue: TASK_QUEUE, identity: IDENTITY },
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: path.join(REPOSITORY, 'src/workflow.ts'),
      logger: new DefaultLogger('ERROR'),
    }),
    plugins: [
      new CountersignPlugin({
        store,
        contents,
        reviewers,
        policy: (_tool, operation) => RULES[(operation as { story: string }).story] ?? null,
        effects: (['lookup', 'blind'] as const).map((mode) => ({
          toolId: toolId(mode),
          sink: countingSink({ url: sinks.url, mode, deadlineMs: 2_000, settleMs: 200 }),
        })),
      }),
    ],
  });
  const running = worker.run();
  try {
    await rm(HISTORIES, { recursive: true, force: true });
    const client = new Client({ connection, identity: IDENTITY });
    const plans = new PlanClient({ client, contents, taskQueue: TASK_QUEUE });
    const record = async (
      name: string,
      modes: readonly CountingMode[],
      meanwhile: (handle: PlanHandle) => Promise<unknown>,
      faults: readonly Fault[] = [],
    ): Promise<void> => {
      sinks.faults.programme(faults);
      const handle = await plans.start(await plans.prepare(draft(name, modes)));
      const { runId: first } = await handle.workflow.describe();
      const current = plans.getHandle(handle.runId);
      await meanwhile(current);
      await current.result().catch(() => undefined);
      sinks.faults.clear();
      const { runId: last } = await current.workflow.describe();
      await recordHistory(client, handle.workflowId, path.join(HISTORIES, `${name}.json`), first);
      if (last !== first) await recordHistory(client, handle.workflowId, path.join(HISTORIES, `${name}-2.json`), last);
    };

    await record('approved', ['lookup', 'blind'], async (handle) => {
      const asked = await parkedFor(handle, 'approval_missing');
      await handle.approve(approvalOf(asked, 'ann'));
      await handle.approve(approvalOf(asked, 'bob'));
    });
    await record('denied', ['lookup'], async (handle) => {
      const asked = await parkedFor(handle, 'approval_missing');
      await handle.approve(approvalOf(asked, 'ann'));
      await handle.approve(rejectionOf(asked, 'bob'));
    });
    await record('too-late', ['lookup'], () => Promise.resolve());
    await record('escalated', ['lookup'], async (handle) => {
      await parkedFor(handle, 'approval_missing');
      while (!JSON.stringify((await handle.status()).asks).includes(AUDITOR)) await moment();
      await handle.approve(approvalOf((await handle.approvals())!, 'ann', { role: AUDITOR }));
    });
    await record('answered-and-continued', ['lookup'], async (handle) => {
      const asked = await parkedFor(handle, 'approval_missing');
      await handle.approve(approvalOf(asked, 'ann'));
      const { runId: before } = await handle.workflow.describe();
      while ((await handle.workflow.describe()).runId === before) await handle.reobserve();
      await handle.approve(approvalOf(asked, 'bob'));
    });
    await record(
      'reopened',
      ['lookup', 'blind', 'lookup'],
      async (handle) => {
        const iat = Math.floor(Date.now() / 1000);
        await handle.approve(approvalOf(await parkedFor(handle, 'approval_missing'), 'ann', { iat, livesS: 4 }));
        const asked = await parkedFor(handle, 'ambiguous_effect');
        while (Date.now() < (iat + 4) * 1_000) await moment();
        await handle.resolve(
          resolutionOf(asked, 'bob', { resolution: 'mark_committed', actionIds: asked.doubtful, externalId: 'row-1' }),
        );
        const expired = await parkedFor(handle, 'approval_expired');
        await handle.resolve(resolutionOf(expired, 'bob', { resolution: 'new_lineage' }));
        await handle.approve(approvalOf(await parkedFor(handle, 'approval_missing'), 'cleo'));
      },
      // The first effect is written and found; of the second, the answer is lost.
      [{ fault: 'delay_before', delayMs: 0 }, { fault: 'drop_reply' }],
    );
    await record(
      'marked-absent',
      ['blind'],
      async (handle) => {
        const asked = await parkedFor(handle, 'ambiguous_effect');
        await handle.resolve(resolutionOf(asked, 'ann', { resolution: 'mark_absent', actionIds: asked.doubtful }));
      },
      [{ fault: 'drop_request' }],
    );
    await record(
      'ended-by-a-person',
      ['blind', 'lookup'],
      async (handle) => {
        const asked = await parkedFor(handle, 'ambiguous_effect');
        await handle.resolve(resolutionOf(asked, 'ann', { resolution: 'abort' }));
      },
      [{ fault: 'drop_reply' }],
    );
    await cp(path.join(folder, 'journal'), path.join(HISTORIES, 'journal'), { recursive: true });
    await withoutMachine(HISTORIES);
  } finally {
    worker.shutdown();
    await running;
    await Promise.all([connection.close(), native.close(), sinks.close()]);
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

function draft(name: string, modes: readonly CountingMode[]): Record<string, unknown> {
  return {
    workflow_id: 'workflow:example.org/recorded',
    name,
    effects: modes.map((mode, index) => ({
      ...{
        id: `e${index}`,
        tool_id: toolId(mode),
        kind: 'local_tool',
        approval_required: (RULES[name] ?? null) !== null,
      },
      operation: { story: name, text: `${CONTENT} ${index}` },
    })),
  };
}

async function parkedFor(handle: PlanHandle, reason: string): Promise<Question> {
  for (;;) {
    const status = await handle.status().catch(() => null);
    const question = status?.state === 'parked' && status.reason === reason ? await handle.approvals() : null;
    if (question !== null) return question;
    await moment();
  }
}

function moment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}

void main();
