/**
 * The OMOP sink, against a real server with the tables of the Common Data Model 5.4.
 *
 * - What it believes about tables is what the server says of them, and its order is one that every foreign key allows.
 * - Every value arrives as it was given, whatever is in it; what cannot is refused by table and column, and nothing is written.
 * - A name that is not the model's never becomes part of a statement.
 * - Rows that the database keeps out make the whole batch refused.
 * - A batch sent again has equal counts and digest. A proposal to take it back names its rows, and is enough to do so.
 * - Real rows: a thousand patients, and 100,000 measurements in one batch, once, although its sender is killed.
 */
import path from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { omopSink, proposeOmopRollback } from '../../../src/adapters/sinks';
import { OMOP_TABLES, type OmopTable } from '../../../src/adapters/sinks/omop-tables';
import type { EffectSink } from '../../../src/ports';
import { contentJson } from '../../../src/rules/plans/content-json';
import { describeWith } from '../../systems/available';
import { findOmopRows, readCsv } from '../../systems/omop-rows';
import { startPostgres } from '../../systems/postgres';
import { batchOf, CDM, makeOmopDatabase, script, type OmopDatabase } from './omop-database';
import { startPgProxy } from './pg-proxy';
import { startSender } from './sql-sender';
import { makeItem, SECRET, sendAndTell, within } from './support';

const PERSON = { person_id: 1, gender_concept_id: 0, year_of_birth: 1970, race_concept_id: 0, ethnicity_concept_id: 0 };
const NOTE = {
  ...{ note_id: 1, person_id: 1, note_date: '2026-01-02', note_type_concept_id: 0, note_class_concept_id: 0 },
  ...{ note_text: SECRET, encoding_concept_id: 0, language_concept_id: 0 },
};
const OBSERVATION = {
  ...{ observation_id: 1, person_id: 1, observation_concept_id: 0, observation_date: '2026-01-02' },
  observation_type_concept_id: 0,
};

describeWith(
  'OMOP sink',
  () => startPostgres(),
  (server) => {
    let place: OmopDatabase;
    let sink: EffectSink;
    const query = (text: string): Promise<readonly Record<string, unknown>[]> => server.query(place.database, text);
    const count = (table: string): Promise<number> => place.count(`${CDM}.${table}`);

    beforeAll(async () => {
      place = await makeOmopDatabase(server);
      sink = omopSink({ name: 'cdm', connection: place.connection, schema: CDM });
    });

    it('keeps its self-test', () => sink.probe?.());

    it('knows the tables as the server has them', async () => {
      for (const table of OMOP_TABLES.values()) {
        const columns = await query(
          `SELECT column_name AS name, data_type AS type, character_maximum_length AS length, is_nullable = 'NO' AS required
           FROM information_schema.columns WHERE table_schema = '${CDM}' AND table_name = '${table.name}' ORDER BY ordinal_position`,
        );
        const named = { 'character varying': 'text', 'timestamp without time zone': 'timestamp' } as const;
        const type = (found: unknown): unknown => named[found as keyof typeof named] ?? found;
        expect(columns.map((column) => ({ ...column, type: type(column['type']) }))).toEqual(table.columns);
        const keys = await query(
          `SELECT a.attname AS key FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
           WHERE i.indisprimary AND i.indrelid = '${CDM}.${table.name}'::regclass`,
        );
        expect(keys).toEqual(table.key === null ? [] : [{ key: table.key }]);
      }
    });

    describe('values', () => {
      const text = (most: number): fc.Arbitrary<string> =>
        fc
          .string({
            unit: fc.oneof(
              fc.constantFrom('"', '\\', '{', '}', ',', 'NULL', "'", '\n', '😀', ' '),
              fc.string({ minLength: 1, maxLength: 1, unit: 'grapheme' }),
            ),
            maxLength: most,
          })
          .filter((value) => !value.includes('\0') && [...value].length <= most);
      it('arrive as they were given', async () => {
        let id = 0;
        const day = fc
          .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
          .map((date) => date.toISOString());
        const row = fc.record(
          {
            observation_date: day.map((iso) => iso.slice(0, 10)),
            observation_datetime: fc.option(day.map((iso) => iso.slice(0, 23))),
            value_as_number: fc.option(
              fc.oneof(
                fc.double({ noNaN: true, noDefaultInfinity: true }),
                fc.integer().map((n) => `${n}.000000000000000001`),
              ),
            ),
            value_as_string: fc.option(text(60)),
            qualifier_concept_id: fc.option(fc.integer({ min: -2_147_483_647, max: 2_147_483_647 })),
          },
          { requiredKeys: ['observation_date'] },
        );
        await fc.assert(
          fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 30 }), async (rows) => {
            const first = id + 1;
            const sent = rows.map((one) => ({ ...OBSERVATION, ...one, observation_id: (id += 1) }));
            expect(await sink.dispatch(makeItem({ rows: { observation: sent } }), within())).toMatchObject({
              outcome: 'accepted',
            });
            const found = await query(
              `SELECT to_char(observation_date, 'YYYY-MM-DD') AS d, to_char(observation_datetime, 'YYYY-MM-DD"T"HH24:MI:SS.MS') AS t,
                 value_as_number::text AS n, value_as_string AS s, qualifier_concept_id AS q
               FROM ${CDM}.observation WHERE observation_id >= ${first} ORDER BY observation_id`,
            );
            const exact = (n: unknown): unknown => (typeof n === 'string' && !/\.0{17}1$/.test(n) ? Number(n) : n);
            expect(found.map((one) => ({ ...one, n: exact(one['n']) }))).toEqual(
              rows.map((one) => ({
                ...{ d: one.observation_date, t: one.observation_datetime ?? null, s: one.value_as_string ?? null },
                ...{
                  n: Object.is(one.value_as_number, -0) ? 0 : (one.value_as_number ?? null),
                  q: one.qualifier_concept_id ?? null,
                },
              })),
            );
          }),
          { numRuns: 60 },
        );
      });

      const of = (table: string, row: Record<string, unknown>): unknown => ({ rows: { [table]: [row] } });
      const columnar = (columns: unknown, values: unknown): unknown => ({ rows: { person: { columns, values } } });
      it.each<[string, unknown, string]>([
        ['no batch', SECRET, 'invalid_operation'],
        ['no rows', { rows: {} }, 'empty_batch'],
        [
          'empty tables',
          { rows: { person: [], measurement: { columns: ['measurement_id'], values: [] } } },
          'empty_batch',
        ],
        ['a field beside the rows', { rows: { person: [PERSON] }, note: SECRET }, 'unknown_field'],
        [
          'a batch id that could be anything',
          { batch_id: `${SECRET} ä`, rows: { person: [PERSON] } },
          'invalid_batch_id',
        ],
        ['a table of the vocabularies', of('concept', { concept_id: 1 }), 'unknown_table'],
        ['a table that is SQL', of('person"; DROP TABLE cdm.person; --', PERSON), 'unknown_table'],
        ['a table of objects', of('__proto__x', PERSON), 'unknown_table'],
        ['a column that is SQL', of('person', { ...PERSON, 'person_id") SELECT 1; --': 1 }), 'unknown_column:person'],
        ['an upper-case column', of('person', { ...PERSON, PERSON_ID: 1 }), 'unknown_column:person'],
        ['a column twice', columnar(['person_id', 'person_id'], [[1, 1]]), 'unknown_column:person'],
        ['a row too short', columnar(Object.keys(PERSON), [[1, 2]]), 'invalid_rows:person'],
        ['columns without values', columnar(Object.keys(PERSON), SECRET), 'invalid_rows:person'],
        ['a row without columns', of('location', {}), 'invalid_rows:location'],
        ['a row that is a list', { rows: { person: [[1]] } }, 'invalid_rows:person'],
        ['a row without what it needs', of('person', { person_id: 1 }), 'missing_value:person.gender_concept_id'],
        [
          'a null where there must be none',
          of('person', { ...PERSON, year_of_birth: null }),
          'missing_value:person.year_of_birth',
        ],
        ['a fraction', of('person', { ...PERSON, person_id: 1.5 }), 'invalid_value:person.person_id'],
        ['a large number', of('person', { ...PERSON, person_id: 2 ** 31 }), 'invalid_value:person.person_id'],
        ['a number as text', of('person', { ...PERSON, person_id: '1' }), 'invalid_value:person.person_id'],
        [
          'a text too long',
          of('person', { ...PERSON, person_source_value: 'x'.repeat(51) }),
          'invalid_value:person.person_source_value',
        ],
        [
          'half a character',
          of('person', { ...PERSON, person_source_value: '\ud800' }),
          'invalid_value:person.person_source_value',
        ],
        ['a NUL', of('note', { ...NOTE, note_text: 'a\0b' }), 'invalid_value:note.note_text'],
        ['a day that is none', of('note', { ...NOTE, note_date: '2026-02-30' }), 'invalid_value:note.note_date'],
        [
          'a day and time as a day',
          of('note', { ...NOTE, note_date: '2026-02-03T00:00:00' }),
          'invalid_value:note.note_date',
        ],
        [
          'a time zone',
          of('note', { ...NOTE, note_datetime: '2026-02-03T00:00:00Z' }),
          'invalid_value:note.note_datetime',
        ],
        [
          'the hour 24',
          of('note', { ...NOTE, note_datetime: '2026-02-03T24:00:00' }),
          'invalid_value:note.note_datetime',
        ],
        [
          'infinity',
          of('observation', { ...OBSERVATION, value_as_number: 'Infinity' }),
          'invalid_value:observation.value_as_number',
        ],
        [
          'a fault in the last of many rows',
          {
            rows: {
              person: [
                ...Array.from({ length: 2_500 }, (_, at) => ({ ...PERSON, person_id: at + 1 })),
                { ...PERSON, person_id: SECRET },
              ],
            },
          },
          'invalid_value:person.person_id',
        ],
        ['a key that is taken', { rows: { person: [PERSON, PERSON] } }, '23505'],
      ])('are refused: %s', async (_name, operation, code) => {
        const item = makeItem(operation);
        expect(await sendAndTell(sink, item)).toEqual({ outcome: 'refused', code });
        expect(await sink.observe([item], within())).toEqual([{ state: 'absent' }]);
        expect([await count('person'), await count('note')]).toEqual([0, 0]);
      });
    });

    it('refuses a batch of which the database keeps some rows out', async () => {
      await query(`CREATE RULE keep_out AS ON INSERT TO ${CDM}.specimen WHERE NEW.person_id = 2 DO INSTEAD NOTHING`);
      const specimen = (id: number): object => ({
        ...{
          specimen_id: id,
          person_id: id,
          specimen_concept_id: 0,
          specimen_type_concept_id: 0,
          specimen_date: '2026-01-02',
        },
      });
      const batch = (ids: number[]): unknown => ({ rows: { specimen: ids.map(specimen) } });
      expect(await sendAndTell(sink, makeItem(batch([1, 2])))).toEqual({
        outcome: 'refused',
        code: 'row_count:specimen',
      });
      expect(await count('specimen')).toBe(0);
      expect(await sendAndTell(sink, makeItem(batch([1, 3])))).toMatchObject({ outcome: 'accepted' });
    });

    describe('with every foreign key', () => {
      let keyed: OmopDatabase;
      let strict: EffectSink;
      beforeAll(async () => {
        keyed = await makeOmopDatabase(server);
        strict = omopSink({ name: 'cdm', connection: keyed.connection, schema: CDM });
        await server.query(
          keyed.database,
          `${script('constraints')} SET session_replication_role = replica;
           INSERT INTO ${CDM}.concept SELECT 0, 'none', 'none', 'none', 'none', NULL, 'none', '1970-01-01', '2099-12-31'`,
        );
      });
      /** One row of a table, referring to row 1 of everything. */
      const rowOf = ({ columns, name }: OmopTable): Record<string, unknown> =>
        Object.fromEntries(
          columns.flatMap(({ name: column, type, required, length }) => {
            const own = column === `${name}_id`;
            const refers = [
              'person_id',
              'visit_occurrence_id',
              'visit_detail_id',
              'provider_id',
              'care_site_id',
              'location_id',
              'episode_id',
            ].includes(column);
            if (!required && !refers) return [];
            if (type === 'integer') return [[column, own || refers ? 1 : 0]];
            return [
              [
                column,
                type === 'date' || type === 'timestamp'
                  ? '2026-01-02'
                  : type === 'numeric'
                    ? 1
                    : 'x'.repeat(Math.min(length ?? 1, 1)),
              ],
            ];
          }),
        );
      const whole = {
        batch_id: 'batch-1',
        rows: Object.fromEntries([...OMOP_TABLES.values()].reverse().map((table) => [table.name, [rowOf(table)]])),
      };

      it('takes a batch of all tables, in whatever order they are given, and again with equal counts and digest', async () => {
        delete (whole.rows as Record<string, unknown>)['cost']; // refers to a domain of the vocabularies
        const item = makeItem(whole);
        const first = await sendAndTell(strict, item);
        expect(first).toMatchObject({ outcome: 'accepted', externalId: 'batch-1' });
        const [found] = await strict.observe([item], within());
        expect(await sendAndTell(strict, item)).toEqual(first);
        expect(await strict.observe([item], within())).toEqual([found]);
        expect(found).toMatchObject({
          state: 'committed',
          operationDigest: item.operationDigest,
          externalId: 'batch-1',
        });
        for (const table of Object.keys(whole.rows)) expect(await keyed.count(`${CDM}.${table}`), table).toBe(1);
      });

      it('refuses a row whose person is not there', async () => {
        const measurement = { ...rowOf(OMOP_TABLES.get('measurement') as OmopTable), measurement_id: 2, person_id: 99 };
        expect(await sendAndTell(strict, makeItem({ rows: { measurement: [measurement] } }))).toEqual({
          outcome: 'refused',
          code: '23503',
        });
      });

      it('proposes what would take a batch back: in that order, exactly its rows go', async () => {
        const batch = batchOf(3, 5_000, 1_000);
        const persons = batch.rows['person'] as Record<string, unknown>[];
        for (const person of persons) Object.assign(person, { gender_concept_id: 0, race_concept_id: 0 });
        const { columns, values } = batch.rows['measurement'] as { columns: string[]; values: unknown[][] };
        for (const row of values) row.splice(2, 1, 0);
        for (const row of values) row.splice(4, 1, 0);
        values.splice(10, 1);
        const before = await keyed.count(`${CDM}.measurement`);
        expect(
          await sendAndTell(
            strict,
            makeItem({ rows: { measurement: { columns, values: [...values].reverse() }, person: persons } }),
          ),
        ).toMatchObject({ outcome: 'accepted' });
        const proposal = proposeOmopRollback(batch);
        expect(proposal).toEqual({
          schema_version: 'countersign.omop_rollback_proposal.v1',
          batch_id: null,
          tables: [
            {
              table: 'measurement',
              rows: 4_999,
              key: 'measurement_id',
              ranges: [
                [1_000, 1_009],
                [1_011, 5_999],
              ],
            },
            { table: 'person', rows: 3, key: 'person_id', ranges: [[1_000, 1_002]] },
          ],
        });
        // As a person might do it.
        for (const { table, key, ranges } of proposal.tables) {
          for (const [from, to] of ranges ?? [])
            await server.query(keyed.database, `DELETE FROM ${CDM}.${table} WHERE ${key} BETWEEN ${from} AND ${to}`);
        }
        expect([await keyed.count(`${CDM}.measurement`), await keyed.count(`${CDM}.person`)]).toEqual([before, 1]);
        expect(proposeOmopRollback({ rows: { death: [{ person_id: 1, death_date: '2026-01-02' }] } }).tables).toEqual([
          { table: 'death', rows: 1, key: null, ranges: null },
        ]);
      });
    });

    describeWith('real rows', findOmopRows, ({ folder }) => {
      /** Rows of a CSV file, each value of the type that its column has. */
      function read(
        name: string,
        from = 0,
        to = Infinity,
      ): { columns: readonly string[]; values: readonly unknown[][] } {
        const { columns, rows } = readCsv(path.join(folder, `${name.toUpperCase()}.csv`));
        const known = columns.map((column) => OMOP_TABLES.get(name)?.columns.find((one) => one.name === column));
        const values = rows
          .slice(from, to)
          .map((row) =>
            row.map((value, at) => (known[at]?.type === 'integer' && value !== null ? Number(value) : value)),
          );
        return { columns, values };
      }
      const TABLES = [
        'person',
        'observation_period',
        'visit_occurrence',
        'condition_occurrence',
        'drug_exposure',
        'procedure_occurrence',
        'observation',
        'condition_era',
        'drug_era',
      ];

      it('a thousand patients in one batch, and 199,514 measurements in two, one of whose senders is killed', async () => {
        await query(`TRUNCATE ${[...TABLES, 'measurement'].map((table) => `${CDM}.${table}`).join(', ')}`);
        const rows = Object.fromEntries(TABLES.map((table) => [table, read(table)]));
        const patients = makeItem({ batch_id: 'patients', rows });
        expect(await sendAndTell(sink, patients)).toMatchObject({ outcome: 'accepted' });
        for (const table of TABLES) expect(await count(table), table).toBe(rows[table]?.values.length);

        const large = makeItem({ batch_id: 'measurements-1', rows: { measurement: read('measurement', 0, 100_000) } });
        // It must fit a content store and an export.
        expect(contentJson(large.operation).length).toBeLessThan(16 * 1024 * 1024);
        const proxy = await startPgProxy(server.port);
        const started = await startSender({
          connection: { ...place.connection, port: proxy.port },
          omopSchema: CDM,
          deadlineMs: 60_000,
          item: large,
        });
        const held = proxy.held('COMMIT');
        started.go();
        const there = await held;
        expect(await sink.observe([large], within())).toEqual([{ state: 'in_flight' }]);
        await started.kill();
        there.drop();
        while ((await sink.observe([large], within()))[0]?.state === 'in_flight');
        expect([(await sink.observe([large], within()))[0]?.state, await count('measurement')]).toEqual(['absent', 0]);
        await proxy.close();

        const result = { batch_id: 'measurements-1', row_counts: { measurement: 100_000 } };
        for (const _again of [1, 2])
          expect(await sendAndTell(sink, large)).toEqual({ outcome: 'accepted', externalId: 'measurements-1', result });
        expect(await count('measurement')).toBe(100_000);
        expect(
          await sendAndTell(sink, makeItem({ rows: { measurement: read('measurement', 100_000) } })),
        ).toMatchObject({ outcome: 'accepted' });
        expect(
          await query(`SELECT count(*)::int AS n, sum(value_as_number)::text AS sum FROM ${CDM}.measurement`),
        ).toEqual([{ n: 199_514, sum: expect.any(String) as string }]);
      });
    });
  },
);
