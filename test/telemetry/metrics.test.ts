/**
 * Properties of the metrics, as Prometheus reads them from a real worker (a process of its own, as its runtime is):
 * - a committed effect, one that was found done, one of unknown outcome, a fenced drive, a lost one and a parked plan each count where
 *   they belong, once, and nowhere else;
 * - waits, look-ups, sends and calls of the stores are timed; a plan that goes on says for how long it was parked;
 * - nothing is measured under a name or a label that the table does not have, and no label names a run or holds content;
 * - a drive that is counted is not counted again when its history is replayed.
 */
import { expect, test } from 'vitest';
import { PlanClient } from '../../src/client';
import { effectRecords } from '../../src/rules/plans/plan';
import { MEASUREMENTS } from '../../src/rules/measurements';
import { countingSink } from '../../src/testing';
import { freeAddress, samplesOf, scrape, sumOf, type Sample } from '../support/prometheus';
import { toolId, useRig } from '../support/rig';
import { connectTemporal } from '../support/temporal';

let address = '';
// Each workflow task replays from the start: what counts twice then would be seen.
const rig = useRig({ maxCachedWorkflows: 0, prometheus: async () => (address = await freeAddress()) });
const PLANTED = 'planted-content-5f3a';

const read = async (): Promise<readonly Sample[]> => samplesOf(await scrape(address));
const lookup = { tool_id: toolId('lookup') };
const blind = { tool_id: toolId('blind') };

/** What has been added to every metric by one doing. */
async function during(work: () => Promise<void>): Promise<(name: string, labels?: Record<string, string>) => number> {
  const before = await read();
  await work();
  const after = await read();
  return (name, labels) => sumOf(after, name, labels) - sumOf(before, name, labels);
}

test('what happens to plans is counted, each thing once', async () => {
  await rig.worker();

  const committed = await during(async () => {
    await (await rig.start([{ mode: 'lookup', operation: { note: PLANTED } }])).result();
  });
  expect(committed('countersign_sends', { ...lookup, outcome: 'committed' })).toBe(1);
  expect(committed('countersign_sends')).toBe(1);
  expect(committed('countersign_send_latency_milliseconds_count', lookup)).toBe(1);
  expect(committed('countersign_lookup_latency_milliseconds_count', { ...lookup, outcome: 'answered' })).toBe(4);
  expect(
    committed('countersign_store_latency_milliseconds_count', { store: 'journal', outcome: 'ok' }),
  ).toBeGreaterThan(5);
  expect(
    committed('countersign_store_latency_milliseconds_count', { store: 'contents', outcome: 'ok' }),
  ).toBeGreaterThan(0);
  expect(committed('countersign_store_latency_milliseconds_count', { outcome: 'failed' })).toBe(0);
  expect(committed('countersign_found_committed')).toBe(0);
  expect(committed('countersign_unknown_outcomes')).toBe(0);

  const found = await during(async () => {
    const plan = await rig.prepare(['lookup']);
    const [record] = effectRecords(plan);
    const item = {
      ...lookup,
      toolId: toolId('lookup'),
      actionId: record!.actionId,
      idempotencyKey: record!.idempotencyKey,
    };
    const sink = countingSink({ url: rig.sinks.url, mode: 'lookup' });
    const { operationDigest } = plan.effects[0]!;
    await sink.dispatch(
      { ...item, operationDigest, operation: {} },
      { signal: AbortSignal.timeout(5_000), deadlineMs: 5_000 },
    );
    await (await rig.plans.start(plan)).result();
  });
  expect(found('countersign_found_committed', lookup)).toBe(1);
  expect(found('countersign_sends')).toBe(0);

  const unknown = await during(async () => {
    rig.sinks.faults.programme([{ fault: 'drop_request' }]);
    await (await rig.start(['lookup'])).result();
  });
  expect(unknown('countersign_unknown_outcomes', lookup)).toBe(1);
  expect(unknown('countersign_sends', { outcome: 'unknown' })).toBe(1);
  expect(unknown('countersign_sends', { outcome: 'committed' })).toBe(1);
  expect(unknown('countersign_settle_wait_milliseconds_count', { cause: 'earlier_send' })).toBe(1);
  expect(unknown('countersign_settle_wait_milliseconds_sum', { cause: 'earlier_send' })).toBe(1_300); // deadline + settle
  expect(unknown('countersign_found_committed')).toBe(0);

  const parked = await during(async () => {
    rig.sinks.faults.programme([{ fault: 'drop_request' }]);
    const handle = await rig.start(['blind']);
    await rig.until(handle, ({ state }) => state === 'parked');
    await handle.reobserve();
    await handle.cancel();
  });
  expect(parked('countersign_parked', { reason: 'ambiguous_effect' })).toBe(1);
  expect(parked('countersign_parked')).toBe(1);
  expect(parked('countersign_parked_age_milliseconds_count', { reason: 'ambiguous_effect' })).toBe(1);
  expect(parked('countersign_sends', { ...blind, outcome: 'unknown' })).toBe(1);
  expect(parked('countersign_lost_drives')).toBe(0);
  expect(parked('countersign_fenced')).toBe(0);
});

test('a drive that is lost, and one that is fenced, are counted', async () => {
  const lost = await during(async () => {
    let first = true;
    const at = (point: string): void => {
      if (point !== 'returning' || !first) return;
      first = false;
      throw new Error('lost on the way back');
    };
    const worker = await rig.worker({ plugin: { at } });
    await (await rig.start(['lookup'])).result();
    await worker.stop();
  });
  expect(lost('countersign_lost_drives')).toBe(1);
  expect(lost('countersign_sends')).toBe(1);

  const fenced = await during(async () => {
    const worker = { plugin: { effects: rig.definitions({ settleMs: 60_000 }) } };
    await rig.worker(worker);
    rig.sinks.faults.programme([{ fault: 'in_flight', times: 0 }]);
    const plan = await rig.prepare(['lookup']);
    const first = await rig.plans.start(plan);
    await rig.until(first, ({ state }) => state === 'waiting');
    const {
      client: there,
      nativeConnection: connection,
      namespace,
      close,
    } = await connectTemporal({ ownNamespace: true });
    rig.atEnd(close);
    await rig.worker({ ...worker, connection, namespace });
    const client = rig.newClient({ connection: there.connection, namespace });
    const { contents, taskQueue } = rig;
    const second = await new PlanClient({ client, contents, taskQueue }).start(plan);
    await rig.until(first, ({ state }) => state === 'following');
    rig.sinks.faults.clear();
    await Promise.all([first.result(), second.result()]);
  });
  expect(fenced('countersign_fenced')).toBe(1);
  expect(fenced('countersign_sends')).toBe(1);
  expect(fenced('countersign_settle_wait_milliseconds_count', { cause: 'sink' })).toBeGreaterThan(0);
});

test('names and labels are those of the table, and none holds content or names a run', async () => {
  const text = await scrape(address);
  expect(text).not.toContain(PLANTED);
  expect(text).not.toMatch(/run_[0-9a-f]{32}|act_[0-9a-f]{32}|sha256:/);
  const known = new Map(
    Object.values(MEASUREMENTS).flatMap(({ name, kind, labels }) =>
      (kind === 'counter' ? [''] : ['_bucket', '_sum', '_count']).map((suffix) => [
        name + suffix,
        labels as readonly string[],
      ]),
    ),
  );
  const sdk = ['namespace', 'taskQueue', 'activityType', 'workflowType', 'le', 'service_name'];
  const ours = samplesOf(text).filter(({ name }) => name.startsWith('countersign'));
  for (const { name, labels } of ours) {
    expect([...known.keys()]).toContain(name);
    expect(
      Object.keys(labels)
        .filter((label) => !sdk.includes(label))
        .sort(),
    ).toEqual([...(known.get(name) ?? [])].sort());
  }
  const seen = new Set(ours.map(({ name }) => name));
  expect(Object.values(MEASUREMENTS).filter(({ name }) => !seen.has(name) && !seen.has(`${name}_sum`))).toEqual([]);
});
