/**
 * Governed plans on a real Temporal server, with journal and contents in a real PostgreSQL.
 *
 * Held here:
 * - while the database is down, killed or frozen in the middle of a plan, nothing more is sent than what had its slot; the plan says
 *   that it waits for its storage;
 * - once the database is back the plan goes on by itself, every effect happens once, and the journal verifies, justified.
 */
import { expect, it } from 'vitest';
import { initJournal } from '../../src';
import { migratePostgresStore, postgresContentStore, postgresStore } from '../../src/adapters/stores';
import { PlanClient } from '../../src/client';
import { openingCheckpoint } from '../../src/rules/plans/plan';
import { storeView, verifyJournal } from '../../src/verify';
import { useRig } from '../support/rig';
import { describeWith } from '../systems/available';
import { startPostgres, type PostgresServer } from '../systems/postgres';

const EFFECTS = 5;
const HELD = 2;
const QUICK = { statementTimeoutMs: 1_000, connectTimeoutMs: 1_000 };

interface Outage {
  readonly begin: (server: PostgresServer) => Promise<void> | void;
  readonly end: (server: PostgresServer) => Promise<void> | void;
}

const OUTAGES: Readonly<Record<string, Outage>> = {
  killed: { begin: (server) => server.kill(), end: (server) => server.start() },
  frozen: { begin: (server) => server.freeze(), end: (server) => server.thaw() },
};

describeWith(
  'PostgreSQL as the journal',
  () => startPostgres({ settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } }),
  (server) => {
    const rig = useRig();

    it.each(Object.entries(OUTAGES))('goes on by itself after its database was %s', async (name, { begin, end }) => {
      const connection = `${server.address()}?schema=${name}`;
      await migratePostgresStore({ connection });
      rig.journal = postgresStore({ connection, ...QUICK });
      rig.contents = postgresContentStore({ connection, ...QUICK });
      rig.journalId = (await initJournal(rig.journal)).journalId;
      rig.plans = new PlanClient({ client: rig.client, contents: rig.contents, taskQueue: rig.taskQueue });
      await rig.worker();

      const plan = await rig.prepare(Array.from({ length: EFFECTS }, () => 'lookup' as const));
      const keys = openingCheckpoint(plan).effects.map(({ idempotencyKey }) => idempotencyKey);
      const held = keys[HELD]!;
      rig.sinks.faults.programme([{ fault: 'hold_after', key: held }]);
      const handle = await rig.plans.start(plan);
      await rig.until(handle, () => rig.sinks.counts(held).writes === 1);
      await begin(server);
      rig.sinks.faults.release(held, 'continue');
      await rig.until(handle, ({ reason }) => reason === 'activity_failed');
      expect(rig.writes).toBe(HELD + 1);
      await end(server);

      expect(await handle.result()).toMatchObject({ status: 'completed' });
      for (const key of keys) expect(rig.sinks.counts(key).writes).toBe(1);
      const report = await verifyJournal(storeView(rig.journal), { strict: true });
      expect(report).toMatchObject({ ok: true, valid: true, justified: true, journalId: rig.journalId });
      expect(report.runs[0]?.lineages.at(-1)).toMatchObject({ committed: EFFECTS });
    });
  },
);
