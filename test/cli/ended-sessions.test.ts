/**
 * What becomes of a session in its journal and content store once it is over, on a real server.
 *
 * Held here:
 * - `contents erase` refuses a session that is not over, and nothing is gone then; of one that is over, nothing that was said, asked or answered
 *   in it is left, also of a call that was never sent, and asking again changes nothing;
 * - forced, that holds of one that is not over, too, whose last call nobody has driven yet;
 * - another session keeps all of its contents, and not one entry of the journal changes, so it verifies strictly as before;
 * - it is exported, as are the runs of its calls, each into a file that verifies strictly; placed together they are byte for byte that part of
 *   the journal, and verify strictly;
 * - `journal retire` counts it among what has no checkpoints, in words, and leaves it alone.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { ToolSessionStatus } from '../../src/client';
import { sessionRunId } from '../../src/rules/invocations/names';
import { SessionRig, call, uniqueTool, until } from '../sessions/support';
import { useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { answerOf, cli } from './support';

const rig = useRig();

/** By their path. */
function filesOf(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    names.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [path.relative(folder, file), readFileSync(file, 'utf8')];
    }),
  );
}

const holding = (folder: string, text: string): readonly string[] =>
  [...filesOf(folder)].filter(([, content]) => content.includes(text)).map(([name]) => name);

test('a session is erased, exported, and cannot be retired', async () => {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  const [journal, contents] = [`${rig.folder}/journal`, `${rig.folder}/contents`];
  const inputSchema = z.object({ note: z.string() });
  const pay = defineTool({
    ...{ tool: uniqueTool('pay'), inputSchema },
    run: ({ note }) => Promise.resolve(`paid for ${note}`),
  }) as unknown as ToolHandler;
  const lost = defineTool({ tool: uniqueTool('lost'), inputSchema, run: () => Promise.resolve(1) });
  const told = (name: string) => [
    { text: `${name} text`, toolCalls: [call(pay.tool, { note: `${name} paid` })] },
    { text: `${name} more`, toolCalls: [call(lost.tool, { note: `${name} unsent` })] },
  ];
  const script = ({
    messages,
  }: {
    readonly messages: readonly { readonly role: string; readonly text?: string }[];
  }) => {
    const name = messages.find(({ role }) => role === 'user')?.text ?? '';
    return told(name)[messages.filter(({ role }) => role === 'assistant').length]!;
  };
  const play = new SessionRig(rig, {
    script: [script, script, script, script],
    tools: [pay, { ...(lost as unknown as ToolHandler), queueWaitMs: 3_600_000 }],
    handlers: [pay],
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const sessions = [await play.start({ message: 'planted' }), await play.start({ message: 'neighbour' })] as const;
  const waiting: string[] = [];
  for (const session of sessions) {
    const unsent = ({ calls }: ToolSessionStatus) =>
      calls.find(({ call_id: id, status }) => id.endsWith(':1:2:0') && status === 'queued');
    waiting.push(unsent(await until(session, (status) => unsent(status) !== undefined))?.run_id ?? '');
  }
  const runId = sessionRunId(sessions[0].session);
  const erase = (...more: readonly string[]) =>
    cli(
      'contents',
      'erase',
      ...(more.length > 0 ? more : [runId]),
      '--journal',
      journal,
      '--contents',
      contents,
      '--json',
    );

  const [all, kept] = [holding(contents, 'planted'), holding(contents, 'neighbour')];
  expect(all.length).toBe(8);
  expect(answerOf(await erase())).toMatchObject({ ok: false, error: { code: 'run_open' } });
  expect(holding(contents, 'planted')).toEqual(all);

  await sessions[0].cancel();
  await sessions[0].result();
  const before = filesOf(journal);
  const erased = answerOf(await erase());
  expect(erased).toMatchObject({ ok: true, data: { run_id: runId } });
  const gone = erased.data?.['paths'] as readonly string[];
  expect(all.filter((name) => !gone.includes(name))).toEqual([]);
  expect(gone).toContain(`salts/${waiting[0]}`);
  expect(gone.filter((name) => filesOf(contents).has(name))).toEqual([]);
  expect(holding(contents, 'planted')).toEqual([]);
  expect(holding(contents, 'neighbour')).toEqual(kept);
  expect(filesOf(journal)).toEqual(before);
  expect((await cli('verify', journal, '--strict')).code).toBe(0);
  expect(answerOf(await erase())).toMatchObject({ ok: true });
  expect(holding(contents, 'neighbour')).toEqual(kept);

  const [out, elsewhere] = [path.join(rig.folder, 'exported'), path.join(rig.folder, 'elsewhere')];
  expect((await cli('export', journal, runId, '-o', out, '--contents', contents)).code).toBe(2);
  const log = [...before].filter(([name]) => name.startsWith(`${runId}/events/`));
  const events = log.map(([, text]) => JSON.parse(text) as { type: string; body: { run_id?: string } });
  const calls = events.flatMap(({ type, body }) => (type === 'tool.requested' ? [body.run_id ?? ''] : []));
  expect(calls).toEqual([expect.stringMatching(/^run_/), waiting[0]]);
  const exported = [runId, ...calls];
  for (const [index, one] of exported.entries()) {
    expect(answerOf(await cli('export', journal, one, '-o', `${out}-${index}`, '--json'))).toMatchObject({ ok: true });
    expect((await cli('verify', `${out}-${index}`, '--strict')).code).toBe(0);
    expect((await cli('journal', 'init', elsewhere, '--from', `${out}-${index}`)).code).toBe(0);
  }
  expect(await cli('verify', elsewhere, '--strict')).toMatchObject({
    code: 0,
    out: expect.stringContaining(sessions[0].session) as string,
  });
  const own = [...before].filter(([name]) => name === 'journal.json' || exported.includes(name.split('/')[0] ?? ''));
  expect(filesOf(elsewhere)).toEqual(new Map(own));

  const retired = answerOf(
    await cli('journal', 'retire', runId, '--journal', journal, '--minimum-age', '1d', '--json'),
  );
  expect(retired).toMatchObject({ ok: true, data: { counts: { without_chain: 1 }, runs: [], confirm: null } });
  const words = await cli('journal', 'retire', runId, '--journal', journal, '--minimum-age', '1d');
  expect(words.out).toContain('1 launches, checks or sessions, which have no checkpoints to retire');
  expect(filesOf(journal)).toEqual(before);

  // Its second call waits for a worker, so that nothing in the journal names its operation.
  expect(before.has(`${waiting[1]}/plan.json`)).toBe(false);
  expect(filesOf(contents).has(`salts/${waiting[1]}`)).toBe(true);
  expect(answerOf(await erase(sessionRunId(sessions[1].session), '--force'))).toMatchObject({ ok: true });
  expect(holding(contents, 'neighbour')).toEqual([]);
  expect(filesOf(contents).has(`salts/${waiting[1]}`)).toBe(false);
});
