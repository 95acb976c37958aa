/**
 * Records the histories of authors' workflows under `test/histories/<version>/authors`, with their journal and the workflows that carry
 * their plans.
 */
import type { Client, WorkflowHandle } from '@temporalio/client';
import { CountersignPlugin, putContent } from '../src';
import { PlanClient } from '../src/client';
import { startCountingServer, type Fault } from '../src/testing';
import { effectsAt } from '../test/workflows/authors/effects';
import { CONTENT, eventually, recordInto } from './dev/recording';

recordInto('authors', {}, async (recording) => {
  const sinks = recording.closing(await startCountingServer());
  const { client, store, contents, taskQueue } = recording;
  await recording.worker({
    workflows: 'test/workflows/authors/workflows.ts',
    plugin: new CountersignPlugin({ store, contents, effects: effectsAt(sinks.url) }),
  });
  const order = (): Promise<unknown> => putContent(contents, { amount: 7, note: CONTENT });
  const record = async (
    name: string,
    workflow: string,
    args: unknown[],
    faults: readonly Fault[] = [],
    meanwhile?: (handle: WorkflowHandle) => Promise<void>,
  ): Promise<void> => {
    sinks.faults.programme(faults);
    const handle = await client.workflow.start(workflow, { workflowId: name, taskQueue, args });
    await meanwhile?.(handle);
    await handle.result().catch(() => undefined);
    sinks.faults.clear();
    await recording.keep(name, name, handle.firstExecutionRunId);
  };

  await record('charged', 'chargeContent', [await order()]);
  await record('in-a-loop', 'inALoop', [3]);
  await record('all-together', 'allTogether', [10]);
  await record('the-same-again', 'thrice', []);
  await record('a-plan', 'planned', [[1, 2, 3]]);
  await record('by-reference', 'byReference', [await order()]);
  await record('rejected', 'chargeContent', [await order()], [{ fault: 'status', status: 400 }]);
  await record('unfit', 'chargeContent', [await putContent(contents, { amount: CONTENT })]);
  await record('continued', 'continued', [1, []]);
  await record('cancelled-scope', 'inAScope', [], [{ fault: 'in_flight', times: 0 }], async (handle) => {
    await sinks.arrivals.wait('looked_up', '*', 1, 30_000);
    await handle.signal('stop');
    sinks.faults.clear();
  });
  const plans = new PlanClient({ client, contents, taskQueue });
  await record('parked', 'chargeContent', [await order()], [{ fault: 'wrong_digest', times: 0 }], async () => {
    const carrier = plans.getHandle(await eventually(() => carried(client)));
    await eventually(async () => (await carrier.status()).state === 'parked');
    sinks.faults.clear();
    await carrier.reobserve();
    await carrier.result();
    await recording.keep('parked-carrier', carrier.workflowId);
  });
});

/** The run of the one plan that a workflow of its own carries. */
async function carried(client: Client): Promise<string | null> {
  for await (const { workflowId } of client.workflow.list({ query: "WorkflowType = 'governedPlan'" })) {
    return workflowId.replace('countersign/', '');
  }
  return null;
}
