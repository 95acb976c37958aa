/**
 * Properties of contents in authors' calls, with a marker of its own in every argument and every result:
 * - of arguments that come by Ref, and of results beyond the exposed fields, nothing is in any history, memo, summary, query
 *   answer, log line (at DEBUG), error or file of the journal;
 * - an exposed field is there, and so is what the author's workflow itself got as its input: nothing else of ours hides it;
 * - each marker reached its sink and stands in the content store, so the search would have found it.
 */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineEffect, putContent, type EffectSink } from '../../../src';
import { summaries, useRig } from '../../support/rig';
import { texts } from '../../support/texts';
import { effectsAt } from './effects';

const rig = useRig({ logLevel: 'DEBUG', workflowsPath: path.resolve(__dirname, 'workflows.ts') });
const MARKER = /planted-[a-z]+-[a-z0-9]+/g;
const reached = new Set<string>();

/** As a careless one does: its results and errors quote what it was given. */
function quoting(sink: EffectSink): EffectSink {
  return {
    ...sink,
    observe: (items, context) => sink.observe(items, context),
    dispatch: async (item, context) => {
      const given = JSON.stringify(item.operation);
      for (const [marker] of given.matchAll(MARKER)) reached.add(marker);
      const outcome = await sink.dispatch(item, context).catch((cause: unknown) => {
        throw new Error(`could not send ${given}`, { cause });
      });
      if (outcome.outcome !== 'accepted') return outcome;
      return { ...outcome, result: { row: 1, shown: 'planted-exposed-x', echo: given, own: 'planted-result-x' } };
    },
  };
}

function talkative(): ReturnType<typeof effectsAt> {
  const { charge, notify, ...rest } = effectsAt(rig.sinks.url);
  const output = z.object({ row: z.number(), shown: z.string(), echo: z.string(), own: z.string() });
  const input = z.strictObject({ amount: z.number(), note: z.string() });
  return {
    ...rest,
    charge: defineEffect({ tool: charge.toolId, sink: quoting(charge.sink), input, output, exposed: ['row', 'shown'] }),
    notify: defineEffect({ tool: notify.toolId, sink: quoting(notify.sink), input: z.unknown() }),
  } as never;
}

const markersIn = (value: unknown): string[] => [...texts(value)].flatMap((text) => text.match(MARKER) ?? []);
const logged = (): string => inspect(rig.logs, { depth: 20, maxArrayLength: null, maxStringLength: null });

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(rig.folder, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map((entry) => readFile(path.join(entry.parentPath, entry.name), 'utf8')));
}

async function run(name: string, args: unknown[]): Promise<unknown[]> {
  const workflowId = `${name}-${rig.taskQueue}`;
  const handle = await rig.client.workflow.start(name, { workflowId, taskQueue: rig.taskQueue, args });
  const result: unknown = await handle.result().catch((reason: unknown) => inspect(reason, { depth: 20 }));
  const history = await rig.historyOf({ workflow: handle as never });
  return [result, history, (await handle.describe()).memo, await summaries({ workflow: handle as never })];
}

test('nothing but exposed fields leaves the content store and the sink', async () => {
  await rig.worker({ plugin: { effects: talkative() } });
  const order = await putContent(rig.contents, { amount: 7, note: 'planted-order-x' });
  const seen = await run('byReference', [order]);
  expect(new Set(markersIn(seen))).toEqual(new Set(['planted-exposed-x']));
  expect([...reached].sort()).toEqual(['planted-exposed-x', 'planted-order-x', 'planted-result-x'].sort());

  const unfit = await putContent(rig.contents, { amount: 'planted-amount-x', 'planted-field-x': 'planted-value-x' });
  const other = await putContent(rig.contents, { amount: 8, note: 'planted-refused-x' });
  rig.sinks.faults.programme([{ fault: 'status', status: 400, times: 0 }]);
  seen.push(...(await run('chargeContent', [unfit])), ...(await run('chargeContent', [other])));
  seen.push(...(await filesIn('journal')));
  expect(new Set(markersIn(seen))).toEqual(new Set(['planted-exposed-x']));
  const told = [...texts(seen)].find((text) => text.startsWith('invalid_arguments: '));
  expect(told).toContain('(amount: invalid_type; note: invalid_type; value: unrecognized_keys)');
  expect(logged().match(MARKER)).toBeNull();
  const kept = new Set(markersIn(await filesIn('contents')));
  expect([...reached].filter((marker) => !kept.has(marker))).toEqual([]);
});
