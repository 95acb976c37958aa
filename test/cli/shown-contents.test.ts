/**
 * What people are shown before they sign, on a real server:
 * - a call of a session is named in the list and where it is shown: by its id, its session and its tool; a plan by its workflow and tools;
 * - with `--contents` the operation stands there, its names as they were given, also before a signature; without it, it is nowhere;
 * - no control character of it reaches a terminal, and nothing but one can be read back otherwise;
 * - an operation that is gone, or that is not what the digest covers, is refused by its code, and nothing is signed or said of it;
 * - a plain approval offers no resolutions.
 */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { reviewersFromFile } from '../../src/adapters/reviewers';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { printable } from '../../src/cli/printable';
import { SessionRig, call, uniqueTool, until } from '../sessions/support';
import { APPROVER, personOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { answerOf, cli } from './support';

const rig = useRig();
const reviewers = (): string => path.join(rig.folder, 'reviewers.json');
const contents = (): string => path.join(rig.folder, 'contents');

beforeEach(async () => {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  process.env['COUNTERSIGN_KEYS'] = path.join(rig.folder, 'keys');
  await cli('keys', 'new', 'ann', '--person', personOf('ann'), '--role', APPROVER);
  writeFileSync(reviewers(), (await cli('keys', 'export')).out);
});
afterAll(() => void delete process.env['COUNTERSIGN_KEYS']);

const NOTE = 'planted \u001b[2J\u009b1A\u202e\n\u2028end';

test('a call of a session', async () => {
  const tool = defineTool({
    tool: uniqueTool('pay'),
    inputSchema: z.object({ payeeName: z.string() }),
    run: () => Promise.resolve(1),
  }) as unknown as ToolHandler;
  const rule = {
    name: 'all',
    scope: 'agent',
    decision: 'require_approval',
    conditions: { field: 'payeeName', op: 'neq', value: '' },
  } as const;
  const fromFile = reviewersFromFile(reviewers());
  const play = new SessionRig(rig, {
    script: [{ toolCalls: [call(tool.tool, { payeeName: NOTE })] }, { text: 'done' }],
    tools: [tool],
    plugin: { toolPolicies: [rule], reviewers: fromFile },
    toolWorker: { reviewers: fromFile },
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'pay' });
  const { calls } = await until(session, ({ status }) => status === 'awaiting_approval');
  const { call_id: callId, run_id: runId } = calls[0] as { call_id: string; run_id: string };
  await rig.until(rig.plans.getHandle(runId), ({ state }) => state === 'parked');

  const is = { call_id: callId, session: session.session, queue: `${tool.tool}@default` };
  const listed = answerOf(await cli('approvals', 'list', '--json')).data?.['plans'] as { run_id: string }[];
  expect(listed.find((one) => one.run_id === runId)).toMatchObject({ call: is });
  expect((await cli('approvals', 'list')).out).toMatch(new RegExp(`^${runId} .* ${is.queue} ${callId} `, 'm'));

  const blind = await cli('approvals', 'show', runId);
  expect(blind.out).toContain(`\ncall ${callId} of session ${session.session}: ${is.queue}\n`);
  expect(blind.out).not.toMatch(/planted|possible resolutions/);
  const shown = await cli('approvals', 'show', runId, '--contents', contents());
  const [, text = ''] = /^operation 0:\n((?: {2}.*\n)+)/m.exec(shown.out)!;
  expect(text).not.toMatch(/[^\n\P{C}]/u);
  expect(JSON.parse(text)).toEqual({ payeeName: NOTE });
  const { data } = answerOf(await cli('approvals', 'show', runId, '--json', '--contents', contents()));
  expect(data).toMatchObject({ call: is, effects: [{ operation: { payeeName: NOTE } }] });

  const approve = ['approvals', 'approve', runId, '--key', 'ann', '--out', path.join(rig.folder, 'word')];
  const [gone, changed] = ['gone', 'changed'].map((name) => path.join(rig.folder, name)) as [string, string];
  const digest = (data?.['effects'] as { operation_digest: string }[])[0]!.operation_digest.slice('sha256:'.length);
  for (const folder of [gone, changed]) cpSync(contents(), folder, { recursive: true });
  rmSync(path.join(gone, 'operations', digest));
  const file = path.join(changed, 'operations', digest);
  writeFileSync(file, readFileSync(file, 'utf8').replace('planted', 'PLANTED'));
  for (const folder of [gone, changed]) {
    const refused = await cli(...approve, '--json', '--contents', folder);
    expect(answerOf(refused).error).toMatchObject({ code: 'content_missing' });
    expect(refused.out + refused.err).not.toMatch(/planted/i);
  }
  writeFileSync(path.join(changed, 'salts', runId), '0'.repeat(64));
  cpSync(path.join(contents(), 'operations', digest), file);
  expect(answerOf(await cli(...approve, '--json', '--contents', changed)).error).toMatchObject({
    code: 'content_missing',
  });
  expect(existsSync(path.join(rig.folder, 'word'))).toBe(false);

  const signed = await cli('approvals', 'approve', runId, '--key', 'ann', '--contents', contents());
  expect(signed).toMatchObject({ code: 0, err: '' });
  expect(signed.out.startsWith(shown.out)).toBe(true);
  await until(session, ({ status }) => status === 'awaiting_input');
});

test('a plan', async () => {
  await rig.worker({ plugin: { policy: () => ({ approvals: 1 }), reviewers: reviewersFromFile(reviewers()) } });
  const handle = await rig.start(['enforcing', 'lookup']);
  await rig.until(handle, ({ state }) => state === 'parked');
  const { runId } = handle;
  const { effects } = await handle.plan();
  const tools = effects.map(({ toolId }) => toolId);
  const listed = answerOf(await cli('approvals', 'list', '--json')).data?.['plans'] as { run_id: string }[];
  const row = listed.find((one) => one.run_id === runId);
  expect(row).toMatchObject({ workflow_id: 'workflow:example.org/rig', call: null, tools });
  expect((await cli('approvals', 'list')).out).toContain(`workflow:example.org/rig ${tools.join(' ')} `);
  const shown = await cli('approvals', 'show', runId, '--contents', contents());
  expect(shown.out).toContain('operation 1:\n  {\n    "amount": 1\n  }\n');
});

test('what is printed', () => {
  expect(printable('a\u001b\u009b\u202e\u{e0001}\ud800é👍')).toBe('a\\u001b\\u009b\\u202e\\udb40\\udc01\\ud800é👍');
});
