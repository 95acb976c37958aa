/**
 * Properties of the spans, with Temporal's own OpenTelemetry plugin on client, worker and workflow:
 * - each send and each batch of look-ups is one span, a child of the activity's span, in the trace of whoever started the plan;
 * - a failed send is a failed span; no attribute, event or status quotes an operation or a sink's error;
 * - without the OpenTelemetry API there are no spans, and a worker is made as before.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { SpanStatusCode, context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { OpenTelemetryPlugin } from '@temporalio/interceptors-opentelemetry';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTelemetrySpans } from '../../src/adapters/spans/open-telemetry';
import { PlanClient } from '../../src/client';
import { toolId, useRig } from '../support/rig';

const PLANTED = 'planted-content-9c1d';
const exporter = new InMemorySpanExporter();
const processor = new SimpleSpanProcessor(exporter);
const provider = new BasicTracerProvider({ spanProcessors: [processor] });
const telemetry = new OpenTelemetryPlugin({ resource: provider.resource, spanProcessor: processor });
const rig = useRig();

beforeAll(async () => {
  provider.register({ contextManager: new AsyncLocalStorageContextManager().enable() });
  const workflowsPath = path.resolve(__dirname, '../../src/workflow.ts');
  rig.bundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN'), plugins: [telemetry] });
});

afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  context.disable();
});

const named = (name: string): readonly ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name === name);

test('a send and its look-ups are spans inside the activity, in the trace of whoever asked', async () => {
  exporter.reset();
  await rig.worker({ plugins: [rig.plugin(), telemetry] });
  const { contents, taskQueue } = rig;
  const plans = new PlanClient({ client: rig.newClient({ plugins: [telemetry] }), contents, taskQueue });
  const tracer = trace.getTracer('test');
  rig.sinks.faults.programme([{ fault: 'drop_request' }]);
  const draft = rig.draft([{ mode: 'lookup', operation: { note: PLANTED } }, 'enforcing']);
  const root = await tracer.startActiveSpan('the caller', async (span) => {
    await (await plans.start(await plans.prepare(draft))).result();
    span.end();
    return span.spanContext();
  });

  const activities = named('RunActivity:countersign.drive');
  expect(activities).toHaveLength(2); // the second after the quiet time of the dropped request
  const parents = new Set(activities.map((span) => span.spanContext().spanId));
  const sends = named('countersign.send');
  const lookUps = named('countersign.look_up');
  expect(sends).toHaveLength(3);
  expect(lookUps.length).toBeGreaterThanOrEqual(2 * sends.length);
  for (const span of [...sends, ...lookUps]) {
    expect(parents).toContain(span.parentSpanId);
    expect(span.spanContext().traceId).toBe(root.traceId);
  }
  expect(sends.map(({ attributes, status }) => [attributes, status.code])).toEqual([
    [sent('lookup', 1, 'unknown'), SpanStatusCode.ERROR],
    [sent('lookup', 2, 'accepted'), SpanStatusCode.OK],
    [sent('enforcing', 1, 'accepted'), SpanStatusCode.OK],
  ]);
  const ours = [...sends, ...lookUps].map(({ attributes, events, status }) => ({ attributes, events, status }));
  expect(ours.flatMap(({ events }) => events)).toEqual([]);
  expect(JSON.stringify(ours)).not.toMatch(new RegExp(`${PLANTED}|127\\.0\\.0\\.1|sha256:`));
});

test('a call that throws fails its span, and no word of the error is told', async () => {
  exporter.reset();
  const spans = openTelemetrySpans();
  const fault = new Error(PLANTED);
  const thrown = spans?.within(
    'x',
    {},
    () => Promise.reject(fault),
    () => ({ ok: true, attributes: {} }),
  );
  await expect(thrown).rejects.toBe(fault);
  const [span] = named('x');
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(span?.events).toEqual([]);
});

/** A process in which no OpenTelemetry package can be found, as where nobody installed one. */
const WITHOUT = `
  const Module = require('node:module');
  const resolve = Module._resolveFilename;
  let asked = 0;
  Module._resolveFilename = function (name, ...rest) {
    if (!name.startsWith('@opentelemetry/')) return resolve.call(this, name, ...rest);
    asked += 1;
    throw Object.assign(new Error('Cannot find module ' + name), { code: 'MODULE_NOT_FOUND' });
  };
  const { CountersignPlugin } = require('./src/index.ts');
  const { fileStore } = require('./src/adapters/stores');
  const store = fileStore(process.argv.at(-1), { createRoot: true });
  const before = asked;
  const worker = new CountersignPlugin({ store, contents: store }).configureWorker({ taskQueue: 'x' });
  console.log(JSON.stringify({ before, asked, activities: Object.keys(worker.activities) }));
`;

test('where the API is not installed, it is asked for once a worker, and the worker is made without it', async () => {
  expect(openTelemetrySpans(() => null)).toBeUndefined();
  const args = ['--import', 'tsx', '-e', WITHOUT, path.join(rig.folder, 'elsewhere')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: path.resolve(__dirname, '../..') });
  const activities = expect.arrayContaining(['countersign.drive', 'countersign.put_call', 'countersign.begin']);
  expect(JSON.parse(stdout)).toEqual({ before: 0, asked: 1, activities });
});

const sent = (mode: 'lookup' | 'enforcing', attempt: number, outcome: string): unknown => ({
  'countersign.tool_id': toolId(mode),
  'countersign.action_id': expect.stringMatching(/^act_[0-9a-f]{32}$/),
  'countersign.attempt': attempt,
  'countersign.outcome': outcome,
});
