/**
 * Properties of contents, with a marker of its own in every operation and every result:
 * - no marker is in any history (payloads decoded, however deep), memo, current details, summary, query answer, file of the
 *   journal, log line (at DEBUG, of the SDK, of its core, and of the worker) or error with all its causes;
 * - each stands in the content store and reached its sink, so the search would have found it.
 */
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { beforeEach, expect, test } from 'vitest';
import type { EffectDefinition, EffectSink } from '../../src';
import type { PlanHandle } from '../../src/client';
import { details, memoOf, summaries, useRig } from '../support/rig';
import { texts } from '../support/texts';
import { parkedFor } from './scenarios/support';

const rig = useRig({ logLevel: 'DEBUG' });
const MARKER = /planted-[a-z]+-[a-z0-9]+/g;
let reached = new Set<string>();
beforeEach(() => void (reached = new Set()));

const operation = (name: string): unknown => ({ note: `planted-operation-${name}`, list: [`planted-inner-${name}`] });

/** Sinks whose results and errors quote what they were given, as careless ones do. */
function talkative(): EffectDefinition[] {
  return rig.definitions().map((definition) => ({ ...definition, sink: quoting(definition.sink) }));
}

function quoting(sink: EffectSink): EffectSink {
  return {
    ...sink,
    observe: (items, context) => sink.observe(items, context),
    dispatch: async (item, context) => {
      const given = JSON.stringify(item.operation);
      for (const [marker] of given.matchAll(MARKER)) reached.add(marker);
      try {
        const outcome = await sink.dispatch(item, context);
        return outcome.outcome === 'accepted'
          ? { ...outcome, result: { echo: given, own: 'planted-result-x' } }
          : outcome;
      } catch (cause) {
        throw new Error(`could not send ${given}`, { cause });
      }
    },
  };
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(rig.folder, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map((entry) => readFile(path.join(entry.parentPath, entry.name), 'utf8')));
}

const markersIn = (value: unknown): string[] => [...texts(value)].flatMap((text) => text.match(MARKER) ?? []);

async function seenOf(handle: PlanHandle): Promise<unknown[]> {
  const asked = [handle.status(), handle.lineage(), details(handle), memoOf(handle), summaries(handle)];
  const described = await handle.workflow.describe();
  return [...(await Promise.all<unknown>(asked)), await rig.historyOf(handle), described.staticSummary, described.memo];
}

/** Logs carry errors and metadata: everything that can be printed of them counts. */
const logged = (): string => inspect(rig.logs, { depth: 20, maxArrayLength: null, maxStringLength: null });

test('no content leaves the content store and the sink', async () => {
  await rig.worker({ plugin: { effects: talkative() } });
  const effects = (['lookup', 'blind', 'enforcing'] as const).map((mode) => ({ mode, operation: operation(mode) }));
  const done = await rig.start(effects);
  await done.result();

  rig.sinks.faults.programme([{ fault: 'status', status: 400 }]);
  const refused = await rig.start(effects);
  const failure: unknown = await refused.result().catch((reason: unknown) => reason);

  rig.sinks.faults.programme([{ fault: 'drop_reply', times: 1 }]);
  const parked = await rig.start([effects[1]!]);
  await rig.until(parked, parkedFor('ambiguous_effect'));
  const preview = await rig.plans.preview(await rig.prepare(effects));

  const seen: unknown[] = [preview, inspect(failure, { depth: 20, showHidden: true })];
  for (const handle of [done, refused, parked]) seen.push(...(await seenOf(handle)));
  seen.push(...(await filesIn('journal')));
  expect(markersIn(seen)).toEqual([]);
  expect(logged().match(MARKER)).toBeNull();
  expect(rig.logs.some(({ level }) => level === 'DEBUG')).toBe(true);

  expect([...reached].sort()).toEqual(
    ['lookup', 'blind', 'enforcing'].flatMap((mode) => [`planted-inner-${mode}`, `planted-operation-${mode}`]).sort(),
  );
  const kept = new Set(markersIn(await filesIn('contents')));
  expect([...reached, 'planted-result-x'].filter((marker) => !kept.has(marker))).toEqual([]);
});

test('what a client is told of a bad draft quotes nothing of it', async () => {
  const bad: Record<string, unknown>[] = [
    { mode: 'lookup', operation: { note: 'planted-operation-a', never: undefined } },
    { mode: 'lookup', operation: 'planted-operation-b', kind: 'planted-kind-b' },
    { mode: 'lookup', operation: 'planted-operation-c', tool_id: 'planted-tool-c' },
    { mode: 'lookup', operation: 'planted-operation-d', id: 'planted-id-d\u0007' },
  ];
  for (const effect of bad) {
    const fault: unknown = await rig.prepare([effect as never]).catch((reason: unknown) => reason);
    expect(fault).toMatchObject({ code: 'invalid_plan' });
    expect(inspect(fault, { depth: 20 }).match(MARKER)).toBeNull();
  }
});

test('nor does what a worker without the content, or with a damaged one, says', async () => {
  await rig.worker({ plugin: { contents: rig.store('nothing') } });
  const handle = await rig.start([{ mode: 'lookup', operation: operation('lookup') }]);
  const failure: unknown = await handle.result().catch((reason: unknown) => reason);
  expect(failure).toMatchObject({ cause: { type: 'content_missing' } });
  expect(markersIn([inspect(failure, { depth: 20 }), await rig.historyOf(handle), logged()])).toEqual([]);
});
