/**
 * Properties of how sessions are found in Temporal:
 * - on a server that was told of our search attributes, by the command that the warning names, sessions are found by where they stand; the tools of open calls, their queues and the
 *   workflows of their calls by `tool@version`; all that belongs to a session by its name; also after it has continued as new;
 * - a server that does not know them carries sessions as well; workers of sessions say so once, and what would change it;
 * - the histories of both replay.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { PolicyRule } from '../../src';
import { scriptedModel } from '../../src/adapters/models';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { SessionHandle } from '../../src/client';
import { queueWorkflowId, toolIdOf } from '../../src/rules/invocations/names';
import { isSearchable, unsearchable } from '../../src/search-registration';
import { TestReviewers, approvalOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { temporalCli } from '../support/temporal';
import { OwnServer } from './own-server';
import { SessionRig, call, uniqueTool, until } from './support';

const rig = useRig();

function toolNamed(tool: string, version: string): ToolHandler {
  return defineTool({ tool, version, inputSchema: z.object({}), run: () => Promise.resolve('done') }) as ToolHandler;
}

test('found by status, tool and session', { timeout: 180_000 }, async () => {
  const own = await OwnServer.open(60);
  rig.atEnd(() => own.close());
  const { connection } = own.client;
  expect(await isSearchable(connection, 'default')).toBe(false);
  const [, command = ''] = /"temporal (operator search-attribute create .*)"/.exec(
    (await unsearchable(connection, 'default')) ?? '',
  ) as RegExpExecArray;
  await promisify(execFile)(temporalCli(), [...command.split(' '), '--address', own.address]);
  await expect.poll(() => isSearchable(connection, 'default'), { timeout: 30_000 }).toBe(true);
  const tools = [toolNamed('pay', '1.0.0'), { ...toolNamed('look', '2.0.0'), capacity: 'native' as const }];
  const reviewers = new TestReviewers();
  const toolPolicies: readonly PolicyRule[] = [
    { name: 'people-pay', scope: 'tool', allow: ['pay'], decision: 'require_approval' },
  ];
  const looks = Array.from({ length: 20 }, () => [{ toolCalls: [call('look', {})] }, { text: 'seen' }]).flat();
  const models = [
    scriptedModel({ name: 'payer', script: [{ toolCalls: [call('pay', {})] }, { text: 'paid' }] }),
    scriptedModel({ name: 'looker', script: looks }),
  ];
  await own.worker({ reviewers, models, tools, toolPolicies });
  await own.tools(tools, { reviewers });
  const start = (session: string, kind: 'root' | 'child'): Promise<SessionHandle> =>
    own.sessions.start({
      ...{ session, kind, model: session, agentVersion: '1', message: 'please' },
      tools: tools.map(({ tool, version }) => ({ tool, version: version ?? null })),
    });
  const found = (query: string) =>
    expect.poll(
      async () => {
        const ids: string[] = [];
        for await (const { workflowId } of own.client.workflow.list({ query })) ids.push(workflowId);
        return ids.sort();
      },
      { timeout: 30_000 },
    );
  const queueOf = (tool: string, version: string): string => queueWorkflowId(toolIdOf({ tool, version })) ?? '';

  const payer = await start('payer', 'child');
  const { calls } = await until(payer, ({ status }) => status === 'awaiting_approval');
  const review = own.plans.getHandle(calls[0]?.run_id ?? '');
  await found("CountersignStatus = 'awaiting_approval'").toEqual([payer.workflowId]);
  const payers = [payer.workflowId, review.workflowId, queueOf('pay', '1.0.0')];
  await found("CountersignTools = 'pay@1.0.0'").toEqual([...payers].sort());
  await found("CountersignSession = 'payer'").toEqual([payer.workflowId, review.workflowId].sort());
  await expect.poll(async () => (await review.status()).state, { timeout: 20_000 }).toBe('parked');
  await review.approve(approvalOf((await review.approvals())!, 'ann'));
  await payer.result();
  await found("CountersignStatus = 'completed'").toEqual([payer.workflowId]);
  await found("CountersignTools = 'pay@1.0.0' AND ExecutionStatus = 'Running'").toEqual([queueOf('pay', '1.0.0')]);

  const looker = await start('looker', 'root');
  const rests = () => until(looker, (status) => status.status === 'awaiting_input' && status.pending_messages === 0);
  const { runId: first } = await looker.workflow.describe();
  for (let turn = 1; (await looker.workflow.describe()).runId === first; turn += 1) {
    if (turn > 10) throw new Error('the session does not continue as new');
    await rests();
    await looker.send('again');
  }
  await rests();
  await found("CountersignStatus = 'awaiting_input' AND ExecutionStatus = 'Running'").toEqual([looker.workflowId]);
  await found("CountersignTools = 'look@2.0.0' AND ExecutionStatus = 'Running'").toEqual([queueOf('look', '2.0.0')]);
  await looker.complete();
  const histories = await Promise.all([...payers, looker.workflowId].map((id) => own.histories(id)));
  expect(await rig.verify(histories.flat(), own.store)).toMatchObject({ failures: [] });
});

test('carried all the same where nobody can look', async () => {
  const tool = { ...toolNamed(uniqueTool('look'), '1.0.0'), capacity: 'native' as const };
  const play = new SessionRig(rig, { script: [{ toolCalls: [call(tool.tool, {})] }, { text: 'seen' }], tools: [tool] });
  await Promise.all([play.worker(), play.toolWorker()]);
  await rig.worker({ taskQueue: `${rig.taskQueue}-more`, plugin: { models: [scriptedModel({ script: [] })] } });
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  const said = rig.logs.filter(({ message }) => message.includes('search-attribute'));
  expect(said.map(({ level, message }) => ({ level, message }))).toEqual([
    {
      level: 'WARN',
      message:
        'countersign: sessions cannot be searched for in namespace "default", which does not know CountersignSession, ' +
        'CountersignStatus, CountersignTools; run "temporal operator search-attribute create --namespace default --name ' +
        'CountersignSession --type Keyword --name CountersignStatus --type Keyword --name CountersignTools --type KeywordList"',
    },
  ]);
});
