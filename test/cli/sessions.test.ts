/**
 * `sessions`, `invocations` and `queues` on a real server:
 * - a session is listed, inspected from its journal alone, attached to and completed; its calls are listed and shown, with times as people read them;
 * - in its first turn, and after its end, it is listed as what it is, whatever its memo says;
 * - what was said in it moves no cursor, and passes for no event, where it is attached to;
 * - its journal lists it by its name and its events; `verify` has a line for it, also of its own folder;
 * - each ends with the exit code of where the session or call stands; a session that nobody knows is refused.
 */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { sessionRunId } from '../../src/rules/invocations/names';
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
  expect(shown.out).toMatch(/^completed_at +\d{4}-\d\d-\d\dT[\d:.]+Z$/m);
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

test('a session in its first turn, and one that was called off in it', async () => {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  let asked = (): void => undefined;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  let answered = (): void => undefined;
  const answer = new Promise<void>((resolve) => (answered = resolve));
  const play = new SessionRig(rig, {
    script: [{ text: 'done' }],
    tools: [],
    onRequest: async () => {
      asked();
      await answer;
    },
  });
  rig.beforeEnd(() => Promise.resolve(answered()));
  await play.worker();
  const { session, ...handle } = await play.start({ message: 'think\u001b[2J\n1  event' });
  await isAsked;
  const rowOf = async (...args: readonly string[]): Promise<unknown> => {
    const rows = answerOf(await cli('sessions', 'ls', '--json', ...args)).data?.['sessions'] as { session: string }[];
    return rows.find((row) => row.session === session);
  };
  expect(await rowOf()).toMatchObject({ status: 'running', turn: 1 });
  const ended = handle.cancel();
  answered();
  expect(await ended).toMatchObject({ status: 'cancelled' });
  await handle.result();
  await expect.poll(() => rowOf('--all')).toMatchObject({ status: 'cancelled', turn: 1 });
  expect((await cli('sessions', 'ls', '--all')).out).toMatch(new RegExp(`^cancelled +turn 1 .* ${session}$`, 'm'));

  const journal = `${rig.folder}/journal`;
  const attached = await cli(
    'sessions',
    'attach',
    session,
    '--journal',
    journal,
    '--contents',
    `${rig.folder}/contents`,
  );
  expect(attached.out).toContain('message.user  think\\u001b[2J\n    1  event\n');
  const events = readdirSync(`${journal}/${sessionRunId(session)}/events`).length;
  const run = sessionRunId(session);
  const listed = await cli('journal', 'ls', journal);
  expect(listed.out).toMatch(new RegExp(`^${run} +session.cancelled +${events} events +session ${session}$`, 'm'));
  expect(answerOf(await cli('journal', 'ls', journal, '--json')).data?.['runs']).toContainEqual(
    expect.objectContaining({
      run_id: run,
      kind: 'session',
      session: { name: session, events, last: 'session.cancelled' },
    }),
  );
  const said = `valid +session ${session}, ${events} events$`;
  expect((await cli('verify', journal)).out).toMatch(new RegExp(`^${run} +${said}`, 'm'));
  const alone = await cli('verify', `${journal}/${run}`);
  expect([alone.code, alone.out]).toEqual([0, expect.stringMatching(new RegExp(`^\\. +${said}`, 'm'))]);
  expect(answerOf(await cli('verify', `${journal}/${run}`, '--json')).data?.['runs']).toEqual([
    expect.objectContaining({ session, events }),
  ]);
});
