/**
 * Properties of the PostgreSQL server that tests start:
 * - two run at once, each with its own data and settings
 * - what was committed is there after a stop, after a SIGKILL of all its processes, and after a freeze
 * - a frozen server answers nothing, and goes on where it was
 * - a standby follows the primary and takes no writes
 * - nothing is left of it when it was ended
 */
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { describeWith } from './available';
import { isMissing } from './system';
import { startPostgres } from './postgres';

describeWith(
  'PostgreSQL',
  () => startPostgres({ settings: { max_prepared_transactions: 7 } }),
  (server) => {
    it('keeps what was committed through stops, kills and freezes, with the settings it was given', async () => {
      const database = await server.makeDatabase();
      await server.query(database, 'CREATE TABLE kept (n int)');
      await server.query(database, 'INSERT INTO kept VALUES (1)');
      await server.stop();
      await server.start({ idle_in_transaction_session_timeout: '2s' });
      await server.query(database, 'INSERT INTO kept VALUES (2)');
      await server.kill();
      await server.start();
      await server.query(database, 'INSERT INTO kept VALUES (3)');
      server.freeze();
      const waiting = server.query(database, 'INSERT INTO kept VALUES (4)');
      expect(await Promise.race([waiting.then(() => 'answered'), delay(300, 'silent')])).toBe('silent');
      server.thaw();
      await waiting;
      expect(await server.query(database, 'SELECT n FROM kept ORDER BY n')).toEqual([
        { n: 1 },
        { n: 2 },
        { n: 3 },
        { n: 4 },
      ]);
      expect(await server.query(database, 'SHOW max_prepared_transactions')).toEqual([
        { max_prepared_transactions: '7' },
      ]);
      const setting = 'idle_in_transaction_session_timeout';
      expect(await server.query(database, `SHOW ${setting}`)).toEqual([{ [setting]: '2s' }]);
    });

    it('runs beside another one, and leaves nothing when it is ended', async () => {
      const other = await startPostgres({ password: 'p w:d/@' });
      if (isMissing(other)) throw new Error(other.missing);
      try {
        expect(other.port).not.toBe(server.port);
        expect(await other.query('postgres', 'SHOW max_prepared_transactions')).toEqual([
          { max_prepared_transactions: '0' },
        ]);
      } finally {
        other.freeze();
        await other.end();
      }
      expect(existsSync(other.folder)).toBe(false);
      await expect(other.query('postgres', 'SELECT 1')).rejects.toThrow();
    });

    it('makes a standby that follows it and takes no writes', async () => {
      const standby = await server.makeStandby();
      await server.query('postgres', 'CREATE TABLE followed (n int)');
      while ((await standby.query('postgres', `SELECT to_regclass('followed') AS found`))[0]?.['found'] === null) {
        await delay(20);
      }
      await expect(standby.query('postgres', 'INSERT INTO followed VALUES (1)')).rejects.toThrow(/read-only/);
      await standby.end();
    });
  },
);
