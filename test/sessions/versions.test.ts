/**
 * Properties of sessions and queues on workers with versions, on a real server:
 * - while builds A and B are there, a session that A began goes on with A, one that begins when B is current goes on with B, and the queue
 *   that both use moves to B and forgets nothing;
 * - A's worker is replaced by another of the same build in the middle of a call, and then by nobody: the call is done once, the session ends
 *   with what A says, and those of B do not notice;
 * - the queue and the sessions replay with the present code, whichever build carried them.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { scriptedModel, type ScriptedAnswer } from '../../src/adapters/models';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { SessionHandle } from '../../src/client';
import { queueWorkflowId, toolIdOf } from '../../src/rules/invocations/names';
import type { QueueStatus } from '../../src/workflows/queue-messages';
import { useRig, type RigWorker } from '../support/rig';
import { SessionRig, auditedLog, call, uniqueTool, until } from './support';

const rig = useRig({ workflowsPath: path.join(__dirname, 'versioned-workflows.ts') });

test('two builds side by side, and a rolling deploy', { timeout: 180_000 }, async () => {
  const done: number[] = [];
  const gates = new Map<number, Promise<void>>();
  let open = (): void => undefined;
  gates.set(2, new Promise<void>((resolve) => (open = resolve)));
  const handler = defineTool({
    tool: uniqueTool('charge'),
    version: '1.0.0',
    inputSchema: z.object({ n: z.int() }),
    run: async ({ n }) => {
      done.push(n);
      await gates.get(n);
      return { n };
    },
  }) as ToolHandler;
  const play = new SessionRig(rig, { script: [], tools: [handler] });
  await play.toolWorker();

  const deploymentName = rig.taskQueue.replace('queue', 'sessions');
  const build = (buildId: string): Promise<RigWorker> => {
    // The n-th turn of a session calls with what the user said, and says who answered.
    const turn = [
      ({ messages }: ModelRequest): ScriptedAnswer => {
        const last = messages.at(-1);
        return { toolCalls: [call(handler.tool, { n: Number(last?.role === 'user' ? last.text : 0) })] };
      },
      { text: `by ${buildId}` },
    ];
    return rig.worker({
      plugin: { models: [scriptedModel({ script: [...turn, ...turn] })], tools: [handler] },
      workerDeploymentOptions: {
        ...{ useWorkerVersioning: true, version: { deploymentName, buildId } },
        defaultVersioningBehavior: 'AUTO_UPGRADE',
      },
    });
  };
  const current = (buildId: string): Promise<void> =>
    expect
      .poll(
        () =>
          rig.client.workflowService
            .setWorkerDeploymentCurrentVersion({
              ...{ namespace: rig.client.options.namespace, deploymentName, buildId },
              ...{ identity: 'a test', ignoreMissingTaskQueues: true },
            })
            .then(
              () => 'current',
              (fault: Error) => fault.message,
            ),
        { timeout: 30_000 },
      )
      .toBe('current');
  const buildOf = async (workflowId: string): Promise<string | null | undefined> => {
    const { raw } = await rig.client.workflow.getHandle(workflowId).describe();
    return raw.workflowExecutionInfo?.versioningInfo?.deploymentVersion?.buildId;
  };
  const rests = (session: SessionHandle, turn: number) =>
    until(session, (status) => status.status === 'awaiting_input' && status.turn === turn);
  const queueId = queueWorkflowId(toolIdOf({ tool: handler.tool, version: '1.0.0' })) ?? '';
  const queue = rig.client.workflow.getHandle(queueId);

  const first = await build('a');
  await current('a');
  const old = await play.start({ message: '1' });
  await rests(old, 1);
  expect(await buildOf(queueId)).toBe('a');

  await build('b');
  await current('b');
  const young = await play.start({ message: '3', kind: 'child' });
  await young.result();
  expect(await buildOf(young.workflowId)).toBe('b');
  expect(await buildOf(queueId)).toBe('b');

  await old.send('2');
  await until(old, ({ calls }) => calls[0]?.status === 'queued' && done.includes(2));
  await first.stop();
  const again = await build('a');
  open();
  await rests(old, 2);
  expect(await old.complete()).toMatchObject({ status: 'completed' });
  await old.result();
  expect(await buildOf(old.workflowId)).toBe('a');
  await again.stop();

  const last = await play.start({ message: '4', kind: 'child' });
  await last.result();
  expect(done).toEqual([1, 3, 2, 4]);
  expect(await queue.query<QueueStatus>('queue')).toMatchObject({ waiting: [], running: [], reported: 4 });
  const said = async (session: SessionHandle): Promise<unknown[]> => {
    const texts: unknown[] = [];
    for await (const { type, content } of session.attach()) if (type === 'message.assistant') texts.push(content);
    return texts.filter((text) => text !== '');
  };
  expect([await said(old), await said(young), await said(last)]).toEqual([['by a', 'by a'], ['by b'], ['by b']]);
  for (const { session } of [old, young, last]) await auditedLog(rig, session);
});
