/**
 * Properties of effects as guests of an author's workflow:
 * - they leave it no query, Signal, Update, current details or memo, while they run and afterwards, not even when a person has
 *   to decide; its history holds nothing of them but a local activity and an activity for each call, one more for the first, a child,
 *   and a version marker;
 * - the author's interceptors see each of these, so a trace goes through;
 * - a workflow that names effects by `import type` bundles nothing of zod, of sinks, or of how effects are defined.
 */
import path from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { BEGIN_ACTIVITY, DRIVE_ACTIVITY, PUT_CALL_ACTIVITY } from '../../../src/activities/contract';
import { historyToJson } from '../../../src/testing/history-json';
import { useRig } from '../../support/rig';
import { effectsAt } from './effects';
import { authorsWorker, begin, carrier } from './scenarios';

const workflowsPath = path.resolve(__dirname, 'workflows.ts');
const rig = useRig({ workflowsPath });

interface Metadata {
  readonly currentDetails?: string;
  readonly definition?: Readonly<Record<string, readonly { readonly name?: string }[]>>;
}

test('nothing of ours stays', async () => {
  await authorsWorker(rig);
  rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
  const handle = await begin(rig, 'chargeAfterSignal', []);
  const parked = await carrier(rig);
  const seen = async (): Promise<unknown> => {
    const { currentDetails = '', definition } = await handle.query<Metadata>('__temporal_workflow_metadata');
    const kinds = ['queryDefinitions', 'signalDefinitions', 'updateDefinitions'];
    const names = kinds.map((kind) => (definition?.[kind] ?? []).map(({ name }) => name ?? ''));
    return [currentDetails, names.flat().filter((name) => !name.startsWith('__'))];
  };
  expect(await seen()).toEqual(['', ['stop']]);
  rig.sinks.faults.clear();
  await parked.reobserve();
  await rig.client.workflow.getHandle(parked.workflowId).result();
  await handle.signal('stop');
  await handle.result();
  expect(await seen()).toEqual(['', ['stop']]);
  expect((await handle.describe()).memo ?? {}).toEqual({});

  const { events } = historyToJson(await handle.fetchHistory());
  const kinds = events.map(({ eventType }) => String(eventType).replace('EVENT_TYPE_', ''));
  expect([
    ...new Set(kinds.filter((kind) => !/WORKFLOW_TASK|^WORKFLOW_EXECUTION_(STARTED|COMPLETED|SIGNALED)/.test(kind))),
  ]).toEqual([
    'MARKER_RECORDED',
    // Of the version marker.
    'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
    ...['SCHEDULED', 'STARTED', 'COMPLETED'].map((kind) => `ACTIVITY_TASK_${kind}`),
    'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
    ...['STARTED', 'COMPLETED'].map((kind) => `CHILD_WORKFLOW_EXECUTION_${kind}`),
  ]);
});

test('the author’s interceptors see it all', async () => {
  const interceptor = path.resolve(__dirname, 'interceptors.ts');
  const workflowBundle = await bundleWorkflowCode({
    ...{ workflowsPath, workflowInterceptorModules: [interceptor], logger: new DefaultLogger('WARN') },
  });
  const seen: [type: string, trace: unknown][] = [];
  await rig.worker({
    workflowBundle,
    plugin: { effects: effectsAt(rig.sinks.url) },
    interceptors: {
      activity: [
        ({ info }) => ({
          inbound: {
            execute: (input, next) => {
              const { trace } = input.headers;
              seen.push([info.activityType, trace && defaultPayloadConverter.fromPayload(trace)]);
              return next(input);
            },
          },
        }),
      ],
    },
  });
  const handle = await begin(rig, 'chargeOnce', [5]);
  await handle.result();
  expect(seen).toEqual([PUT_CALL_ACTIVITY, BEGIN_ACTIVITY, DRIVE_ACTIVITY].map((type) => [type, handle.workflowId]));
});

test('types only', async () => {
  const modules: string[] = [];
  await bundleWorkflowCode({
    workflowsPath,
    logger: new DefaultLogger('WARN'),
    webpackConfigHook: (config) => {
      const plugin = {
        apply: (compiler: { hooks: { done: { tap(name: string, seen: (stats: CompilerStats) => void): void } } }) =>
          compiler.hooks.done.tap('modules', ({ compilation }) => {
            for (const { resource } of compilation.modules) if (resource) modules.push(resource);
          }),
      };
      return { ...config, plugins: [...(config.plugins ?? []), plugin as never] };
    },
  });
  expect(modules.length).toBeGreaterThan(20);
  expect(
    modules.filter((module) => /node_modules\/zod|src\/(effects|adapters|testing|ports)|authors\/effects/.test(module)),
  ).toEqual([]);
});

interface CompilerStats {
  readonly compilation: { readonly modules: Iterable<{ readonly resource?: string }> };
}
