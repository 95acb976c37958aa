/**
 * Records the histories of tool sessions under `test/histories/<version>/sessions`, with their journal: those of sessions, of the queues
 * of their tools, and of the calls that people were asked about. Every key in them is made up here.
 */
import { z } from 'zod';
import { CountersignPlugin, CountersignToolWorker, type PolicyRule } from '../src';
import { scriptedModel } from '../src/adapters/models';
import { ToolOutcomeUnknown, defineTool, type ToolHandler } from '../src/adapters/tools';
import { PlanClient, SessionClient, type PlanHandle, type Question, type SessionHandle } from '../src/client';
import type { QueueStatus, ToolQueueInput } from '../src/workflows/queue-messages';
import { queueWorkflowId, toolIdOf } from '../src/rules/invocations/names';
import type { InvocationStatus } from '../src/rules/invocations/vocabulary';
import { TestReviewers, approvalOf, rejectionOf, resolutionOf } from '../test/support/reviewers';
import { CONTENT, eventually, recordInto, type Recording } from './dev/recording';

const SECRET = z.object({ text: z.string() });
/** What each tool does when it is called, and by which way its calls go. */
const TOOLS = {
  charge: handler('charge', { version: '1.0.0', maxConcurrency: 1 }),
  look: { ...handler('look', { sideEffect: 'read_only' }), capacity: 'native' as const },
  pay: handler('pay'),
  lose: handler('lose', {
    settleMs: 100,
    run: () => Promise.reject(new ToolOutcomeUnknown('nobody knows')),
  }),
  renew: handler('renew'),
  // Nobody does these.
  absent: { ...handler('absent'), queueWaitMs: 500 },
  awaited: { ...handler('awaited'), queueWaitMs: 600_000 },
};
type ToolName = keyof typeof TOOLS;
const WORKED = [TOOLS.charge, TOOLS.look, TOOLS.pay, TOOLS.lose, TOOLS.renew];

const POLICIES: readonly PolicyRule[] = [
  { name: 'two-pay', scope: 'tool', allow: ['pay'], decision: 'require_approval', approvals: 2 },
  {
    name: 'no-refunds',
    scope: 'agent',
    decision: 'deny',
    conditions: { field: 'text', op: 'eq', value: `refund ${CONTENT}` },
  },
];

/** What the model calls, round by round; it has nothing more to ask after that. */
const STORIES: Record<string, readonly (readonly (ToolName | 'refund')[])[]> = {
  done: [['charge', 'look', 'charge', 'refund'], ['charge']],
  asked: [['pay', 'pay']],
  resolved: [['lose']],
  'not-taken': [['absent']],
  cancelled: [['awaited', 'look']],
  renewing: [['renew', 'renew', 'renew', 'renew'], ['renew']],
};
/** A turn is one call and one word of thanks. */
const TURNS = 30;

recordInto('sessions', { eventsBeforeRenewal: 120 }, async (recording) => {
  const { store, contents, taskQueue, native, client } = recording;
  const reviewers = new TestReviewers();
  const models = Object.entries(STORIES).map(([name, rounds]) =>
    scriptedModel({ name, script: [...rounds.map((tools) => ({ toolCalls: tools.map(called) })), { text: CONTENT }] }),
  );
  const patient = Array.from({ length: TURNS }, () => [{ toolCalls: [called('look')] }, { text: CONTENT }]).flat();
  await recording.worker({
    plugin: new CountersignPlugin({
      ...{ store, contents, reviewers, tools: Object.values(TOOLS), toolPolicies: POLICIES },
      models: [...models, scriptedModel({ name: 'patient', script: patient })],
    }),
  });
  recording.runs(
    await CountersignToolWorker.create({
      ...{ connection: native, taskQueue, store, contents, reviewers, handlers: WORKED, identity: 'tools@recording' },
    }),
  );
  const sessions = new Sessions(recording, new SessionClient({ client, store, contents, taskQueue }));
  await sessions.all();
});

class Sessions {
  private readonly plans: PlanClient;

  constructor(
    private readonly recording: Recording,
    private readonly sessions: SessionClient,
  ) {
    const { client, contents, taskQueue } = recording;
    this.plans = new PlanClient({ client, contents, taskQueue });
  }

  async all(): Promise<void> {
    await this.story('done');
    await this.asked();
    await this.resolved();
    await this.story('not-taken');
    await this.cancelled();
    await this.continued();
    await this.renewed();
    for (const tool of ['charge', 'pay', 'lose', 'absent'] as const) await this.keepQueue(tool, `queue-of-${tool}`);
  }

  private start(name: string, model = name, kind: 'root' | 'child' = 'child'): Promise<SessionHandle> {
    const tools = Object.values(TOOLS).map(({ tool, version = null }) => ({ tool, version }));
    return this.sessions.start({ session: name, agentVersion: '1', model, tools, kind, message: CONTENT });
  }

  private async story(name: string): Promise<void> {
    const session = await this.start(name);
    await session.result();
    await this.recording.keep(name, session.workflowId);
  }

  /** One call of two is approved by two, the other refused by one. */
  private async asked(): Promise<void> {
    const session = await this.start('asked');
    const [first, second] = (await this.standing(session, 'awaiting_approval', 2)) as [PlanHandle, PlanHandle];
    const about = await question(first);
    for (const who of ['ann', 'bob']) await first.approve(approvalOf(about, who));
    await second.approve(rejectionOf(await question(second), 'ann'));
    await session.result();
    await this.recording.keep('asked', session.workflowId);
    await this.recording.keep('asked-approved', first.workflowId);
    await this.recording.keep('asked-denied', second.workflowId);
  }

  private async resolved(): Promise<void> {
    const session = await this.start('resolved');
    const [call] = (await this.standing(session, 'indeterminate', 1)) as [PlanHandle];
    const about = await question(call);
    const said = { resolution: 'mark_committed', actionIds: about.doubtful, externalId: 'row-1' } as const;
    await call.resolve(resolutionOf(about, 'ann', said));
    await session.result();
    await this.recording.keep('resolved', session.workflowId);
    await this.recording.keep('resolved-call', call.workflowId);
  }

  /** While one call waits in its queue. */
  private async cancelled(): Promise<void> {
    const session = await this.start('cancelled');
    await eventually(async () => (await session.status()).calls.some(({ status }) => status === 'succeeded'));
    await session.cancel();
    await this.recording.keep('cancelled', session.workflowId);
  }

  private async continued(): Promise<void> {
    const session = await this.start('continued', 'patient', 'root');
    const { runId: first } = await session.workflow.describe();
    const rests = (): Promise<true> => eventually(async () => (await session.status()).status === 'awaiting_input');
    await rests();
    while ((await session.workflow.describe()).runId === first) {
      await session.send(CONTENT);
      await rests();
    }
    await session.send(CONTENT);
    await session.complete();
    await this.recording.keep('continued-1', session.workflowId, first);
    await this.recording.keep('continued-2', session.workflowId);
  }

  /** A queue of its own, which renews itself soon. */
  private async renewed(): Promise<void> {
    const { client, taskQueue } = this.recording;
    const workflowId = queueOf('renew');
    const args: [ToolQueueInput] = [{ tool: 'renew', version: 'default', renew_when_idle: 20 }];
    const queue = client.workflow.getHandle(workflowId);
    await eventually(() => queue.query<QueueStatus>('queue'));
    await queue.terminate('another one is wanted');
    const { firstExecutionRunId: first } = await client.workflow.start('toolQueue', { workflowId, taskQueue, args });
    await eventually(async () => (await queue.query<QueueStatus>('queue')).workers.length > 0);
    const session = await this.start('renewing', 'renewing');
    await session.result();
    await eventually(async () => (await queue.query<QueueStatus>('queue')).renewals > 0);
    await this.recording.keep('queue-renewed-1', workflowId, first);
    await this.recording.keep('queue-renewed-2', workflowId);
  }

  private keepQueue(tool: ToolName, name: string): Promise<void> {
    return this.recording.keep(name, queueOf(tool));
  }

  /** The plans of as many calls as have come to this, where people answer. */
  private async standing(session: SessionHandle, wanted: InvocationStatus, count: number): Promise<PlanHandle[]> {
    const { calls } = await eventually(async () => {
      const status = await session.status();
      return status.calls.filter((call) => call.status === wanted).length === count && status;
    });
    return calls.map(({ run_id: runId }) => this.plans.getHandle(runId));
  }
}

function handler(tool: string, more: Partial<ToolHandler> = {}): ToolHandler {
  return defineTool({
    tool,
    inputSchema: SECRET,
    run: ({ text }) => Promise.resolve({ text }),
    ...more,
  }) as ToolHandler;
}

function called(tool: ToolName | 'refund'): { readonly tool: string; readonly args: unknown } {
  return tool === 'refund'
    ? { tool: 'charge', args: { text: `refund ${CONTENT}` } }
    : { tool, args: { text: CONTENT } };
}

function queueOf(name: ToolName): string {
  const { tool, version = null } = TOOLS[name];
  return queueWorkflowId(toolIdOf({ tool, version })) ?? '';
}

function question(plan: PlanHandle): Promise<Question> {
  return eventually(async () => ((await plan.status()).state === 'parked' ? plan.approvals() : null));
}
