/**
 * What the log of a worker says of what its people wrote for verification runs, and did not work. Held here:
 * - a check that throws, at once or later, or answers what is no outcome, comes to `inconclusive`, and one warning names run, binding and
 *   the class of the error; a check that answers without a promise simply works, and is not warned of;
 * - a worker process that ends before it submits is warned of once, with its job, provider, and exit code or signal; one that submits is not;
 * - no warning holds a message of an error, or anything else that may be content.
 */
import path from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { CheckDefinition } from '../../../src';
import { processLauncher } from '../../../src/adapters/launchers';
import type { CheckDraft } from '../../../src/client';
import { useRig } from '../../support/rig';
import { authorizeAll, clientOf, draft, MODEL, PROVIDER, reviewers, WORKFLOWS } from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });

const warnings = (about: RegExp): readonly Readonly<Record<string, unknown>>[] => {
  const entries = rig.logs.filter(({ level, message }) => level === 'WARN' && about.test(message));
  expect(inspect(entries, { depth: null })).not.toContain('planted');
  return entries.map(({ meta }) => ({ ...meta }));
};

/** Entries come out of the runtime a moment after they were written. */
async function warned(about: RegExp, times: number): Promise<ReturnType<typeof warnings>> {
  await expect.poll(() => warnings(about).length, { timeout: 10_000 }).toBe(times);
  return warnings(about);
}

const BROKEN: Readonly<Record<string, { readonly run: () => unknown; readonly fault: string | null }>> = {
  'at-once': { run: () => ({ outcome: 'conforms' }), fault: null },
  nonsense: { run: () => Promise.resolve({ outcome: 'planted' }), fault: 'TypeError' },
  nothing: { run: () => undefined, fault: 'TypeError' },
  rejects: { run: () => Promise.reject(new RangeError('planted')), fault: 'RangeError' },
  text: {
    run: () => {
      throw 'planted';
    },
    fault: 'string',
  },
  throws: {
    run: () => {
      throw Object.assign(new EvalError('planted'), { name: 'planted' });
    },
    fault: 'EvalError',
  },
};

test('of checks', async () => {
  const bindings = Object.keys(BROKEN);
  const checks = Object.entries(BROKEN).map(([binding, { run }]) => ({ binding, check: { run } }) as CheckDefinition);
  await rig.worker({ plugin: { checks, reviewers } });
  const runs = clientOf(rig);
  const asked: readonly CheckDraft[] = bindings.map((binding) => ({ criterion: binding, check: 'any', binding }));
  const executors = bindings.map((binding) => ({ mode: 'in_process' as const, binding }));
  const handle = await runs.start(await runs.prepare(draft(0, 0, { checks: asked, executors })));
  const { results } = await authorizeAll(rig, handle);
  const found = Object.fromEntries(results.map(({ criterion, outcome }) => [criterion, outcome]));
  const wanted = Object.entries(BROKEN).map(([binding, { fault }]) => [binding, fault] as const);
  expect(found).toEqual(
    Object.fromEntries(wanted.map(([binding, fault]) => [binding, fault === null ? 'conforms' : 'inconclusive'])),
  );
  const broken = wanted.filter(([, fault]) => fault !== null);
  const told = await warned(/a check gave no answer/, broken.length);
  expect(told.map(({ binding, fault, runId }) => ({ binding, fault, runId }))).toEqual(
    broken.map(([binding, fault]) => ({ binding, fault, runId: handle.runId })),
  );
});

test.each([
  ['a script that is not there', ['missing.mjs'], { exitCode: 1 }],
  ['one that a signal ends', ['-e', 'process.kill(process.pid, "SIGKILL")'], { exitSignal: 'SIGKILL' }],
  ['one that submits', [path.resolve(__dirname, '../../adapters/launchers/worker.mjs'), 'context,submit'], null],
])('of a worker process: %s', async (_name, args, exit) => {
  const launcher = processLauncher({ command: process.execPath, args, cwd: rig.folder, lifetimeMs: 10_000 });
  await rig.worker({ plugin: { launchers: [{ provider: PROVIDER, model: MODEL, launcher }], reviewers } });
  const runs = clientOf(rig);
  const handle = await runs.start(await runs.prepare(draft(0, 1)), { runningDeadlineMs: 20_000 });
  const { jobs } = await authorizeAll(rig, handle);
  const [job] = jobs;
  const told = await warned(/ended before it submitted/, exit === null ? 0 : 1);
  if (exit === null) return;
  expect(job).toMatchObject({ reason: 'worker_exited_before_submission' });
  expect(told).toMatchObject([{ jobId: job?.job_id, runId: handle.runId, provider: PROVIDER, model: MODEL, ...exit }]);
});
