/**
 * Properties, while creates in order go on from several writers to a real server:
 * - the server is killed, six times: every create that was acknowledged is there whole, and of any other either all entries or none,
 *   also where the server by itself would not wait for its disk (`synchronous_commit = off`)
 * - the server is stopped, frozen, unreachable, slow, deaf, read-only, out of space: creates fail by the code of that state and within
 *   their time, nothing is lost, doubled or told as `created` twice, and afterwards the same store goes on by itself
 * - of a create whose answer is lost nothing is told; reading it back, once the server is reached again, settles it
 * Where a process may not mount, a trigger that raises the server's own code stands for the full disk.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { postgresStore } from '../../../src/adapters/stores';
import { describeWith } from '../../systems/available';
import { type PostgresServer, startPostgres } from '../../systems/postgres';
import { journalIn, makeHome, raisesFull, WORKER, type PostgresHome } from './postgres-fixture';
import { Traffic } from './store-traffic';
import { startTcpProxy } from './tcp-proxy';
import { bytes, text } from './values';

const QUICK = { statementTimeoutMs: 500, connectTimeoutMs: 1_000, maxConnections: 4 };
const SETTINGS = { synchronous_commit: 'off', wal_writer_delay: '10s' };

interface Outage {
  begin(): Promise<unknown> | void;
  end(): Promise<unknown> | void;
  readonly code: string;
}

type Outages = Readonly<Record<string, (server: PostgresServer, home: PostgresHome) => Outage>>;

const OUTAGES: Outages = {
  stopped: (server) => ({ begin: () => server.stop(), end: () => server.start(), code: 'store_unavailable' }),
  crashed: (server) => ({
    begin: () => server.stop('immediate'),
    end: () => server.start(),
    code: 'store_unavailable',
  }),
  frozen: (server) => ({ begin: () => server.freeze(), end: () => server.thaw(), code: 'store_unavailable' }),
  locked: (server, { schema }) => {
    const held = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $$holder$$';
    const lock = `SET application_name = holder; BEGIN; LOCK ${schema}.entries; SELECT pg_sleep(60)`;
    return {
      begin: () => void server.query('postgres', lock).catch(() => undefined),
      end: () => server.query('postgres', held),
      code: 'store_unavailable',
    };
  },
  'read-only': (server) => ({
    begin: () => server.query('postgres', changeWorker('SET default_transaction_read_only = on')),
    end: () => server.query('postgres', changeWorker('RESET default_transaction_read_only')),
    code: 'store_read_only',
  }),
  'without rights': (server, { schema }) => ({
    begin: () => server.query('postgres', `REVOKE INSERT ON ${schema}.entries FROM ${WORKER}`),
    end: () => server.query('postgres', `GRANT INSERT ON ${schema}.entries TO ${WORKER}`),
    code: 'store_permission_denied',
  }),
};

/** Also ends its sessions, which keep the settings that they began with. */
function changeWorker(change: string): string {
  return `ALTER ROLE ${WORKER} ${change}; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${WORKER}'`;
}

describeWith(
  'PostgreSQL',
  () => startPostgres({ settings: SETTINGS }),
  (server) => {
    test('killed six times, it holds all that was acknowledged, and nothing in part', async () => {
      const home = await makeHome(server);
      const store = journalIn(home, QUICK);
      const traffic = new Traffic(store);
      for (let kill = 0; kill < 6; kill += 1) {
        await traffic.progress(20 + kill * 3);
        await server.kill();
        await server.start();
      }
      await traffic.progress(20);
      await traffic.end();
      expect(await traffic.faults(store)).toEqual([]);
      expect(traffic.codes()).toEqual(['store_unavailable']);
    });

    test.each(Object.entries(OUTAGES))('%s for a while, it goes on by itself', async (_state, outageOf) => {
      const home = await makeHome(server);
      const store = journalIn(home, QUICK);
      const { begin, end, code } = outageOf(server, home);
      const traffic = new Traffic(store);
      await traffic.progress(20);
      traffic.codes();
      await begin();
      await traffic.failing(code);
      await expect(store.create('tried', bytes('x'))).rejects.toMatchObject({ name: 'StoreError', code });
      await end();
      await traffic.progress(20);
      expect(await store.create('tried', bytes('x'))).toMatch(/created|identical/);
      await traffic.end();
      expect(await traffic.faults(store)).toEqual([]);
    });

    test('unreachable, slow and deaf on the way, it tells nothing that is not so, and goes on', async () => {
      const home = await makeHome(server);
      const wire = await startTcpProxy(server.port);
      try {
        const address = home.address.replace(`:${server.port}/`, `:${wire.port}/`);
        const store = postgresStore({ connection: address, ...QUICK });
        const traffic = new Traffic(store);
        await traffic.progress(20);
        wire.cut();
        await traffic.failing('store_unavailable');
        wire.mend();
        await traffic.progress(20);
        await delay(100);
        traffic.codes();
        wire.delayMs = 20;
        await traffic.progress(20);
        expect(traffic.codes()).toEqual([]);
        wire.delayMs = 0;

        const other = postgresStore({ connection: address, ...QUICK });
        expect(await other.read('lost/answer')).toBeNull(); // it has a connection from now on
        wire.deaf = true;
        const lost = other.create('lost/answer', bytes('x')).catch((fault: unknown) => fault);
        await traffic.failing('store_unavailable');
        expect(await lost).toMatchObject({ name: 'StoreError', code: 'store_unavailable' });
        expect(text(await journalIn(home).read('lost/answer'))).toBe('x');
        wire.deaf = false;
        expect(await other.create('lost/answer', bytes('x'))).toBe('identical');
        await traffic.progress(20);
        await traffic.end();
        expect(await traffic.faults(store)).toEqual([]);
      } finally {
        await wire.close();
      }
    });

    test('out of space, it says so, keeps what it has, and goes on when there is some', async () => {
      const home = await makeHome(server);
      const store = journalIn(home, QUICK);
      const disk = await smallDisk(server, home);
      try {
        const traffic = new Traffic(store);
        await traffic.progress(20);
        let entries = 0;
        await disk.fill(async () => {
          for (;;) await store.create(`filler/${(entries += 1)}`, randomBytes(200_000));
        });
        await traffic.failing('store_full');
        await disk.free();
        await traffic.progress(20);
        await traffic.end();
        expect(await traffic.faults(store)).toEqual([]);
      } finally {
        disk.remove();
      }
    });
  },
);

interface SmallDisk {
  /** Runs `write` until the disk is full. */
  fill(write: () => Promise<never>): Promise<void>;
  free(): Promise<unknown> | void;
  remove(): void;
}

async function smallDisk(server: PostgresServer, { schema }: PostgresHome): Promise<SmallDisk> {
  const folder = path.join(server.folder, '..', 'small');
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', folder], { stdio: 'ignore' });
  } catch {
    return raisedFull(server, schema);
  }
  // Also when this process is killed: else the folder could not be removed.
  const guard = spawn('/bin/sh', ['-c', 'read -r ended; umount -l "$1"', 'guard', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const { uid, gid } = statSync(server.folder);
  chownSync(folder, uid, gid);
  await server.query('postgres', `CREATE TABLESPACE small LOCATION '${folder}'`);
  await server.query('postgres', `ALTER TABLE ${schema}.entries SET TABLESPACE small`);
  return {
    fill: (write) => expect(write()).rejects.toMatchObject({ code: 'store_full' }) as Promise<void>,
    free: () => void execFileSync('mount', ['-o', 'remount,size=64m', folder]),
    remove: () => void guard.stdin.end(),
  };
}

function raisedFull(server: PostgresServer, schema: string): SmallDisk {
  return {
    fill: async () => void (await server.query('postgres', raisesFull(schema))),
    free: () => server.query('postgres', `DROP TRIGGER full_now ON ${schema}.entries`),
    remove: () => undefined,
  };
}
