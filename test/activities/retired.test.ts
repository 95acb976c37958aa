/**
 * Runs whose checkpoints gave way to a record, driven again.
 *
 * Held here:
 * - the recorded outcome is answered, and proven to the workflow step by step, also in a later lineage's place; nothing is sent
 * - where what is left does not lead to the recorded end (a witness gone, another record), it is refused as `journal_retired`,
 *   also to a history that knows the head; nothing is sent and nothing written
 * - a driver that had read an older head before the retirement sends nothing after it, and what it writes is never read
 */
import { expect, test } from 'vitest';
import {
  checkpointFileName,
  JournalRetentionPolicy,
  planRetirement,
  RecoveryCheckpoint,
  RetiredJournalRecord,
} from '../../src/rules/recovery';
import { storeView, verifyJournal } from '../../src/verify';
import { Bench } from './support';

const encoder = new TextEncoder();

/** Does to the store in memory what a retirement does to a folder. */
function retire(bench: Bench, change: (record: RetiredJournalRecord) => RetiredJournalRecord = (same) => same): string {
  const folder = `${bench.plan.runId}/lineage-0001`;
  const lineage: RecoveryCheckpoint[] = [];
  for (let index = 0n; ; index += 1n) {
    const bytes = bench.store.entries.get(`${folder}/${checkpointFileName(index)}`);
    if (bytes === undefined) break;
    lineage.push(RecoveryCheckpoint.fromJson(bytes));
    bench.store.entries.delete(`${folder}/${checkpointFileName(index)}`);
  }
  const plan = planRetirement({
    lineage,
    terminalMtimeNs: 0n,
    journalBinding: `sha256:${'0'.repeat(64)}`,
    now: 1_700_000_000n,
    policy: JournalRetentionPolicy.create({ minimumAgeSeconds: 1n }),
  })!;
  bench.store.put(`${folder}/retired.json`, encoder.encode(RetiredJournalRecord.toJson(change(plan.record))));
  return plan.record.finalCheckpointDigest;
}

test('the outcome is answered and proven, and nothing is sent', async () => {
  const bench = new Bench([{}, {}]);
  const before = await bench.carry();
  expect(before).toMatchObject({ status: 'done' });
  const final = retire(bench);
  const kept = bench.bytes();
  // `carry` holds every step against the chain that a workflow derives.
  expect(await bench.carry()).toMatchObject({ status: 'done', replayed: true, head: { digest: final } });
  expect(await bench.drive(bench.engine(), { expected_head: before.head })).toMatchObject({ status: 'done' });
  expect(await bench.drive(bench.engine(), { intent: 'cancel' })).toMatchObject({ status: 'done' });
  expect(bench.told.sent).toHaveLength(2);
  expect(bench.bytes()).toBe(kept);
  const report = await verifyJournal(storeView(bench.store, bench.plan.runId), { strict: true, expectHead: final });
  expect(report).toMatchObject({ ok: true, valid: true, justified: true, anchored: true, findings: [] });
  expect(report.runs[0]?.lineages[0]).toMatchObject({ justified: 'yes', committed: 2, head: { phase: 'completed' } });
});

test('a run with losers among its witnesses is derived all the same', async () => {
  const bench = new Bench([{}]);
  await bench.carry();
  // Somebody else's step from the same head, that never became a checkpoint.
  const other = new Bench([{}]);
  other.clockMs += 5_000;
  other.told.answers.push('throw', 'throw', 'throw');
  await other.drive();
  for (const [path, bytes] of other.store.entries) if (path.includes('/witnesses/')) bench.store.put(path, bytes);
  const final = retire(bench);
  expect(await bench.carry()).toMatchObject({ status: 'done', replayed: true, head: { digest: final } });
  expect(bench.told.sent).toHaveLength(1);
});

test('what cannot be proven is refused, and nothing is sent', async () => {
  const damages: readonly ((bench: Bench) => void)[] = [
    (bench) => void (retire(bench), bench.store.entries.delete(bench.path('/witnesses/'))),
    (bench) =>
      void retire(bench, (record) =>
        RetiredJournalRecord.create({ ...record, finalCheckpointDigest: `sha256:${'5'.repeat(64)}` }),
      ),
    (bench) =>
      void retire(bench, (record) =>
        RetiredJournalRecord.create({ ...record, checkpointCount: record.checkpointCount + 1n }),
      ),
  ];
  for (const damage of damages) {
    const bench = new Bench([{}, {}]);
    const before = await bench.carry();
    damage(bench);
    const kept = bench.bytes();
    for (const known of [{}, { expected_head: before.head }, { known_head: before.head }]) {
      const again = await bench.drive(bench.engine(), known);
      expect(again).toMatchObject({ status: 'refused', code: 'journal_retired' });
    }
    expect(bench.told.sent).toHaveLength(2);
    expect(bench.bytes()).toBe(kept);
    const report = await verifyJournal(storeView(bench.store, bench.plan.runId));
    expect(report).toMatchObject({ ok: true });
    expect(report.runs[0]?.lineages[0]).toMatchObject({ justified: 'retired' });
  }
});

test.each(['before_append', 'slot_taken', 'sending'] as const)(
  'a driver that was held at "%s" sends nothing after the retirement',
  async (point) => {
    const bench = new Bench([{}]);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let reached = (): void => undefined;
    const there = new Promise<void>((resolve) => (reached = resolve));
    let first = true;
    const slow = bench.engine(
      {},
      {
        at: async (now) => {
          if (now !== point || !first) return;
          first = false;
          reached();
          await held;
        },
      },
    );
    const stale = bench.drive(slow);
    await there;
    expect(await bench.carry()).toMatchObject({ status: 'done' });
    const final = retire(bench);
    const sent = bench.told.sent.length;
    bench.clockMs += 30 * 86_400_000;
    release();
    await stale.catch(() => undefined);
    expect(bench.told.sent).toHaveLength(sent);
    expect(bench.told.held.size).toBe(1);
    expect(await bench.carry()).toMatchObject({ status: 'done', head: { digest: final } });
    expect(bench.told.sent).toHaveLength(sent);
  },
);
