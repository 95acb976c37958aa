/**
 * Commands on a journal that is not a folder.
 *
 * Held here:
 * - a journal that went from a folder through S3 and PostgreSQL into a folder is the same, too, and `journal init` makes one in a bucket;
 * - `journal init`, `ls`, `copy`, `export`, `verify` and `init --from` do with a PostgreSQL journal what they do with a folder: a journal that went from
 *   a folder through PostgreSQL into a folder is the same, byte for byte, and so is what a worker without the owner's rights copies;
 * - what is missing, foreign, unreachable or no address at all is refused by the code and exit code that a folder has;
 * - no output ever holds the user or the password of an address.
 */
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeWith } from '../systems/available';
import { isMissing } from '../systems/system';
import { startPostgres } from '../systems/postgres';
import { startVersitygw } from '../systems/versitygw';
import { files, useSampleFolder } from './sample-folder';
import { answerOf, cli, type JsonAnswer } from './support';

const PASSWORD = 'pw of the owner';
const JOURNAL_ID = `jrn_${'0'.repeat(32)}`;
const here = useSampleFolder();
const { at } = here;

async function json(...args: readonly string[]): Promise<JsonAnswer & { code: number | null }> {
  const spoken = await cli(...args);
  const ran = await cli(...args, '--json');
  for (const { out, err } of [spoken, ran]) {
    for (const secret of [PASSWORD, encodeURIComponent(PASSWORD), 'postgres@', 'countersign_cli', 'user=']) {
      expect(out + err).not.toContain(secret);
    }
  }
  return { ...answerOf(ran), code: ran.code };
}

describeWith(
  'PostgreSQL',
  () => startPostgres({ password: PASSWORD }),
  (server) => {
    let schemas = 0;
    const address = (schema = `journal_${(schemas += 1)}`): string => `${server.address()}?schema=${schema}`;

    it('a journal goes from a folder through PostgreSQL into a folder, and is the same', async () => {
      const there = address();
      expect(await json('journal', 'copy', at('journal'), there)).toMatchObject({ code: 0, ok: true });
      expect(await json('journal', 'copy', there, at('back'))).toMatchObject({ code: 0, ok: true });
      expect(files(at('back'))).toEqual(files(at('journal')));
      expect(await json('verify', there, '--strict')).toMatchObject({
        code: 0,
        data: { kind: 'journal', ok: true, justified: true, journal_id: JOURNAL_ID },
      });
      expect(await json('journal', 'ls', there)).toMatchObject({ code: 0, data: { runs: [{ run_id: here.runId }] } });
      const fromThere = await json('inspect', here.runId, '--offline', '--journal', there);
      const fromFolder = await json('inspect', here.runId, '--offline', '--journal', at('journal'));
      expect(fromThere).toEqual(fromFolder);

      expect((await cli('export', there, here.runId, '-o', at('one.export'))).code).toBe(0);
      const other = address();
      expect(await json('journal', 'init', other, '--from', at('one.export'))).toMatchObject({
        code: 0,
        data: { journal_id: JOURNAL_ID, state: 'same' },
      });
      expect((await cli('journal', 'copy', other, at('again'))).code).toBe(0);
      expect(files(at('again'))).toEqual(files(at('journal')));
    });

    it('is made by its owner, once, and then used by a worker with fewer rights', async () => {
      await server.query('postgres', `CREATE ROLE countersign_cli LOGIN PASSWORD 'few'`);
      const schema = `journal_${(schemas += 1)}`;
      const made = await json('journal', 'init', address(schema), '--grant', 'countersign_cli');
      expect(made).toMatchObject({ code: 0, data: { created: false } }); // --json came second
      const shown = `postgres://127.0.0.1:${server.port}/postgres?schema=${schema}`;
      expect(made.data?.['contents']).toBe(shown);
      const worker = `postgres://countersign_cli:few@127.0.0.1:${server.port}/postgres?schema=${schema}`;
      expect(await json('journal', 'init', worker)).toMatchObject({ code: 0, data: { created: false } });
      expect(await json('journal', 'ls', worker)).toMatchObject({ code: 0, data: { runs: [] } });
      expect(await json('verify', worker)).toMatchObject({ code: 0 });
      expect(await json('journal', 'copy', worker, at('empty'))).toMatchObject({ code: 0 });
      const few = `postgres://countersign_cli:few@127.0.0.1:${server.port}/postgres?schema=another`;
      expect(await json('journal', 'init', few)).toMatchObject({ code: 1, error: { code: 'store_permission_denied' } });
    });

    it('what cannot be had is refused as it is of a folder', async () => {
      const missing = address();
      const foreign = address();
      const name = /schema=(\w+)/.exec(foreign)?.[1];
      await server.query('postgres', `CREATE SCHEMA ${name}; CREATE TABLE ${name}.entries (id int)`);
      const unreachable = `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:1/postgres`;
      const invalid = 'invalid_argument';
      const cases: readonly (readonly [args: readonly string[], code: string, exit: number])[] = [
        [['journal', 'ls', missing], invalid, 2],
        [['verify', missing], invalid, 2],
        [['export', missing, here.runId, '-o', at('x')], invalid, 2],
        [['inspect', here.runId, '--offline', '--journal', missing], invalid, 2],
        [['journal', 'copy', missing, at('x')], invalid, 2],
        [['journal', 'init', foreign], invalid, 2],
        [['journal', 'copy', at('journal'), foreign], 'store_unsafe_entry', 1],
        [['journal', 'ls', unreachable], 'store_unavailable', 1],
        [['verify', unreachable], 'store_unavailable', 1],
        [['journal', 'init', unreachable], 'store_unavailable', 1],
        [['journal', 'init', 'mysql://root@host/db'], 'store_invalid_path', 2],
        [['journal', 'init', `${address()}&sslmode=maybe`], 'store_invalid_path', 2],
        [['journal', 'init', `${address()}&password=${PASSWORD}`], 'store_invalid_path', 2],
        [['verify', 'postgres://postgres:pw%@host/db'], 'store_invalid_path', 2],
      ];
      for (const [args, code, exit] of cases) {
        expect(await json(...args), args.join(' ')).toMatchObject({ ok: false, code: exit, error: { code } });
      }
      expect(existsSync(at('x'))).toBe(false);
      expect(await json('journal', 'copy', missing, missing)).toMatchObject({ code: 2 });
    });

    it('takes what an address leaves out from the PG* variables', async () => {
      const there = address();
      expect((await cli('journal', 'copy', at('journal'), there)).code).toBe(0);
      const schema = /schema=\w+/.exec(there)?.[0];
      const variables = { PGHOST: '127.0.0.1', PGPORT: String(server.port), PGUSER: 'postgres', PGPASSWORD: PASSWORD };
      Object.assign(process.env, variables);
      try {
        expect(await json('verify', `postgres:///postgres?${schema}`)).toMatchObject({ code: 0, data: { ok: true } });
      } finally {
        for (const variable of Object.keys(variables)) delete process.env[variable];
      }
    });
  },
);

describeWith(
  'S3 and PostgreSQL',
  async () => {
    const bucket = await startVersitygw();
    if (isMissing(bucket)) return bucket;
    const database = await startPostgres();
    if (isMissing(database)) {
      await bucket.end();
      return database;
    }
    return { bucket, database, end: async () => void (await Promise.all([bucket.end(), database.end()])) };
  },
  ({ bucket, database }) => {
    const variables = {
      AWS_ACCESS_KEY_ID: bucket.access.accessKeyId,
      AWS_SECRET_ACCESS_KEY: bucket.access.secretAccessKey,
    };
    beforeEach(() => void Object.assign(process.env, variables));
    afterEach(() => {
      for (const variable of Object.keys(variables)) delete process.env[variable];
    });

    it('a journal goes through both, and is the same', async () => {
      const s3 = (prefix: string): string =>
        `s3://${name}/${prefix}?endpoint=${bucket.endpoint}&region=${bucket.region}`;
      const name = await bucket.makeBucket();
      const places = [at('journal'), s3('one'), database.address(), s3('two'), at('back')];
      for (const [index, to] of places.slice(1).entries()) {
        const copied = await cli('journal', 'copy', places[index]!, to);
        expect(copied, copied.err).toMatchObject({ code: 0, err: '' });
      }
      expect(files(at('back'))).toEqual(files(at('journal')));
      expect(await json('verify', s3('one'), '--strict')).toMatchObject({ code: 0, data: { journal_id: JOURNAL_ID } });
      expect(await json('journal', 'ls', s3('two'))).toMatchObject({ data: { runs: [{ run_id: here.runId }] } });
      const made = await json('journal', 'init', s3('new'));
      expect(made).toMatchObject({ code: 0, data: { contents: `s3://${name}/new-contents` } });
      expect(await json('journal', 'init', s3(''))).toMatchObject({ code: 2, error: { code: 'store_invalid_path' } });
      expect(await json('journal', 'init', s3('new'), '--grant', 'somebody')).toMatchObject({ code: 2 });
    });
  },
);
