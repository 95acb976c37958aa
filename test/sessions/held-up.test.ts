/**
 * Properties of a session of whose model or tool no worker has heard, on a real server:
 * - whoever asks learns it from its status, from its details in the Web UI and from `sessions ls` and `inspect`: the code and the name of
 *   what is missing, and no content; the session waits meanwhile;
 * - once a worker has it, the session goes on by itself and nothing holds it up any more;
 * - a message that is not ours changes nothing that it shows;
 * - it is the same with workers that keep no workflow in memory, whose every task is a replay.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/adapters/models';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { SessionHandle } from '../../src/client';
import { historyToJson } from '../../src/testing/history-json';
import { answerOf, cli } from '../cli/support';
import { useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { texts } from '../support/texts';
import { SessionRig, auditedLog, uniqueTool, until } from './support';

const rig = useRig();
const SAID = 'pay the landlord';
const CACHES = [{ maxCachedWorkflows: 100 }, { maxCachedWorkflows: 0 }];

async function details({ workflow }: SessionHandle): Promise<string> {
  const metadata = await workflow.query<{ currentDetails: string }, []>('__temporal_workflow_metadata');
  return metadata.currentDetails;
}

function toolNamed(tool: string): ToolHandler {
  return defineTool({ tool, inputSchema: z.object({ n: z.int() }), run: ({ n }) => Promise.resolve(n) }) as ToolHandler;
}

test.each(CACHES)('a model, and then a tool, that only a later worker has: %j', async (cache) => {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  const tool = toolNamed(uniqueTool('late'));
  const model = { ...scriptedModel({ script: [{ text: 'done' }] }), name: 'late-model' };
  const play = new SessionRig(rig, { script: [], tools: [tool] });
  const session = await play.start({ message: SAID, kind: 'child', model: model.name });
  const listed = async (): Promise<unknown> => {
    const rows = answerOf(await cli('sessions', 'ls', '--json')).data?.['sessions'] as { session: string }[];
    return rows.find((row) => row.session === session.session);
  };
  const inspected = (...more: readonly string[]): ReturnType<typeof cli> =>
    cli('sessions', 'inspect', session.session, '--journal', `${rig.folder}/journal`, ...more);

  for (const [name, plugin] of [
    [model.name, { models: [], tools: [tool] }],
    [`${tool.tool}@default`, { models: [model], tools: [] }],
  ] as const) {
    const worker = await rig.worker({ ...cache, plugin });
    const { held_up: heldUp, status } = await until(session, (one) => one.held_up?.about === name);
    expect([status, heldUp]).toEqual(['running', { code: 'no_adapter', about: name, since: expect.any(Number) }]);
    expect(await details(session)).toMatch(new RegExp(`^held up since .*no_adapter.*${name}`, 'm'));
    const tries = { code: 'no_adapter', message: expect.stringContaining(name), tries: expect.any(Number) };
    await expect.poll(listed, { timeout: 30_000 }).toMatchObject({ status: 'running', held_up: tries });
    await expect
      .poll(async () => answerOf(await inspected('--json')).data, { timeout: 30_000 })
      .toMatchObject({ status: 'running', held_up: tries });
    await expect
      .poll(async () => (await inspected()).out, { timeout: 30_000 })
      .toMatch(new RegExp(`^held up after \\d+ tr(y|ies), .*${name}`, 'm'));
    await worker.stop();
  }

  const worker = await rig.worker({ ...cache, plugin: { models: [model], tools: [tool] } });
  expect(await session.result()).toMatchObject({ status: 'completed', held_up: null });
  expect(await details(session)).not.toContain('held up');
  expect((await auditedLog(rig, session.session)).view.status).toBe('completed');
  expect(
    [...texts(historyToJson(await session.workflow.fetchHistory()))].filter((text) => text.includes(SAID)),
  ).toEqual([]);
  await worker.stop();
});

test('what is not said by its activities is not shown', async () => {
  const play = new SessionRig(rig, { script: [{ text: 'done' }], tools: [] });
  await play.worker();
  const session = await play.start();
  await until(session, ({ status }) => status === 'awaiting_input');
  const strange: readonly unknown[] = [
    ...[null, undefined, 7, 'no_adapter', {}, []],
    ...[{ activity: 1, code: 'no_adapter' }, { activity: 'a', code: SAID }, { activity: 'a' }],
  ];
  for (const message of strange) await session.workflow.signal('countersign_held_up', message);
  expect(await session.status()).toMatchObject({ status: 'awaiting_input', held_up: null });
  const about = `a|b\`c\n${'x'.repeat(500)}`;
  await session.workflow.signal('countersign_held_up', { activity: 'a', code: 'no_adapter', about });
  const shown = { code: 'no_adapter', about: `a?b?c?${'x'.repeat(122)}`, since: expect.any(Number) };
  expect(await session.status()).toMatchObject({ held_up: shown });
  await session.workflow.signal('countersign_held_up', { activity: 'b', code: null, about: null });
  expect(await session.status()).toMatchObject({ held_up: shown });
  await session.workflow.signal('countersign_held_up', { activity: 'a', code: null, about: null });
  expect(await session.status()).toMatchObject({ held_up: null });
  expect(await session.complete()).toMatchObject({ status: 'completed' });
});
