/**
 * `sessions`, `invocations` and `queues` on a real server:
 * - a session is listed, inspected from its journal alone, attached to and completed; its calls are listed and shown;
 * - each ends with the exit code of where the session or call stands; a session that nobody knows is refused.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { SessionRig, call, uniqueTool, until } from '../sessions/support';
import { useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { answerOf, cli } from './support';

const rig = useRig();

test('a session from its start to its end', async () => {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  const tool = defineTool({
    tool: uniqueTool('add'),
    inputSchema: z.object({ n: z.int() }),
    run: () => Promise.resolve(1),
  });
  const play = new SessionRig(rig, {
    script: [{ toolCalls: [call(tool.tool, { n: 1 })] }, { text: 'done' }],
    tools: [tool as unknown as ToolHandler],
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const { session, ...handle } = await play.start({ message: 'add' });
  await until({ session, ...handle }, ({ status }) => status === 'awaiting_input');
  const journal = ['--journal', `${rig.folder}/journal`];

  const listed = answerOf(await cli('sessions', 'ls', '--json'));
  expect(listed.data?.['sessions']).toContainEqual(
    expect.objectContaining({ session, status: 'awaiting_input', turn: 1 }),
  );
  const inspected = answerOf(await cli('sessions', 'inspect', session, '--json', ...journal));
  expect(inspected).toMatchObject({ ok: true, data: { status: 'awaiting_input', turn: 1 } });
  const [row] = (answerOf(await cli('invocations', 'ls', session, '--json', ...journal)).data?.['invocations'] ??
    []) as {
    call_id: string;
  }[];
  expect(row).toMatchObject({ status: 'succeeded', attempt: 1 });
  const shown = await cli('invocations', 'show', row!.call_id, ...journal);
  expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('succeeded')]);
  const queues = answerOf(await cli('queues', 'ls', '--json')).data?.['queues'] as { queue: string }[];
  expect(queues.map(({ queue }) => queue)).toContain(`${tool.tool}@default`);

  expect((await cli('sessions', 'complete', session)).out).toBe(`session ${session}: completed, 1 turn\n`);
  const attached = await cli('sessions', 'attach', session, ...journal, '--contents', `${rig.folder}/contents`);
  expect([attached.code, attached.out]).toEqual([
    0,
    expect.stringMatching(/message.user {2}add\n[^]*session.completed\n$/),
  ]);
  expect((await cli('sessions', 'inspect', 'nobody', ...journal)).code).toBe(2);
  expect((await cli('invocations', 'show', 'nothing', ...journal)).code).toBe(2);
});
