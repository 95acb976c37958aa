/**
 * Records, under `test/histories/<version>/queues` with their journal, histories of what sessions and the queues of tools have come to do
 * since those of sessions were recorded: a session is held up; a queue keeps a call back that nobody there may do, turns away who asks for
 * another plan under its name, and holds back for less time where its workers are there.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { z } from 'zod';
import { CountersignPlugin, CountersignToolWorker } from '../src';
import { Contents } from '../src/activities/contents';
import { prepareDraft } from '../src/activities/prepare';
import { scriptedModel } from '../src/adapters/models';
import { defineTool, descriptorHash, type ToolHandler } from '../src/adapters/tools';
import { SessionClient } from '../src/client';
import { callIdOf, callRunId, queueWorkflowId, sessionWorkflowId, toolIdOf } from '../src/rules/invocations/names';
import { workflowIdDigest } from '../src/rules/plans/identity';
import { planToRecord } from '../src/rules/plans/plan';
import type { Enqueue, QueueStatus, Register } from '../src/workflows/queue-messages';
import { CONTENT, eventually, recordInto, type Recording } from './dev/recording';

const LISTED = { tool: 'listed', version: null };
const QUEUE = queueWorkflowId(toolIdOf(LISTED)) ?? '';
const SESSION = { session: 'held-up', agentVersion: '1' };
const CALL = callIdOf({ ...SESSION, turn: 1, round: 1, index: 0 });
const WAIT_MS = 600_000;

const LISTED_TOOL = { ...handler(z.object({ text: z.string() })), queueWaitMs: WAIT_MS };
const OTHER_SCHEMA = handler(z.object({ other: z.string() }));

/** What a worker that nobody hears of would have sent. */
const silent = () => Promise.reject(new Error('nobody hears it'));
const SILENT = { interceptors: { client: { workflow: [{ signal: silent, signalWithStart: silent }] } } };

recordInto('queues', {}, async (recording) => {
  const { store, contents, taskQueue, native, client } = recording;
  const asked = { tool: LISTED.tool, args: { text: CONTENT } };
  const model = scriptedModel({ name: 'late', script: [{ toolCalls: [asked] }, { text: CONTENT }] });
  const unable = await recording.worker({ plugin: new CountersignPlugin({ store, contents, models: [] }) });
  const sessions = new SessionClient({ client, store, contents, taskQueue });
  const session = await sessions.start({
    ...{ ...SESSION, model: model.name, tools: [LISTED], kind: 'child', message: CONTENT },
  });
  await eventually(async () => (await session.status()).held_up);
  await unable();
  await recording.worker({ plugin: new CountersignPlugin({ store, contents, models: [model], tools: [LISTED_TOOL] }) });

  const worker = (one: ToolHandler, identity: string, more: object = {}): Promise<CountersignToolWorker> =>
    CountersignToolWorker.create({
      ...{ connection: native, taskQueue, store, contents, handlers: [one], identity, worker: more },
    });
  const queue = client.workflow.getHandle(QUEUE);
  const waits = (): Promise<unknown> =>
    eventually(async () => (await queue.query<QueueStatus>('queue')).waiting.includes(CALL));
  await waits();
  await queue.signal('register', present('tools@other', descriptorHash(OTHER_SCHEMA)));
  await waits();
  await queue.signal('enqueue', await rival(recording));
  // It does not do the call that is now handed out.
  const other = recording.runs(await worker(OTHER_SCHEMA, 'tools@other', SILENT));
  await queue.signal('register', present('tools@other', descriptorHash(LISTED_TOOL)));
  await eventually(async () => marks(await queue.fetchHistory()).includes('queue-alive-shortens-hold'));
  await other();
  recording.runs(await worker(LISTED_TOOL, 'tools@recording'));
  await session.result();
  await eventually(async () => (await queue.query<QueueStatus>('queue')).running.length === 0);
  await recording.keep('held-up', session.workflowId);
  await recording.keep('queue-of-listed', QUEUE);
});

function present(identity: string, descriptor_hash: string): Register {
  return { identity, instance: descriptor_hash.slice(-8), slots: 1, descriptor_hash, event: 'started' };
}

/** What patches have left in a history. */
function marks({ events }: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>): string {
  const details = (events ?? []).flatMap((event) => Object.values(event.markerRecordedEventAttributes?.details ?? {}));
  return details
    .flatMap(({ payloads }) => payloads ?? [])
    .map(({ data }) => Buffer.from(data ?? []).toString())
    .join();
}

/** Another plan under the name of the call, of somebody who is not there. */
async function rival({ contents }: Recording): Promise<Enqueue> {
  const runId = callRunId(CALL, LISTED);
  const effect = {
    id: CALL,
    toolId: toolIdOf(LISTED),
    kind: 'local_tool',
    operation: { text: `not ${CONTENT}` },
  } as const;
  const plan = await prepareDraft(
    new Contents(contents),
    {
      ...{ workflowId: 'workflow:countersign.local/session', runId, order: 'ordered' },
      effects: [{ ...effect, approvalRequired: false, compensationLimit: 'none' }],
    },
    { origin: workflowIdDigest(sessionWorkflowId('another')), requester: null },
  );
  return {
    ...{ call_id: CALL, run_id: runId, plan: planToRecord(plan), journal_id: null, reply_to: 'another', sequence: 1 },
    ...{ queue_wait_ms: WAIT_MS, deadline_at: Date.now() + WAIT_MS, execution_ms: 1_000 },
  };
}

function handler(inputSchema: z.ZodType): ToolHandler {
  return defineTool({ tool: LISTED.tool, inputSchema, run: (args) => Promise.resolve(args) }) as ToolHandler;
}
