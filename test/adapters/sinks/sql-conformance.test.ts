/**
 * The PostgreSQL and OMOP sinks, against the kit: every case that is reached by a line is kept, and what is not applicable is so
 * for the reason that is written here.
 */
import { beforeAll, describe } from 'vitest';
import { omopSink, postgresSink, type PostgresConnection } from '../../../src/adapters/sinks';
import { sinkConformance, type MakeSink, type SinkFixture } from '../../../src/testing';
import { conforms, OF_MEANING, type Expected } from '../../support/conformance';
import { describeWith } from '../../systems/available';
import { startPostgres } from '../../systems/postgres';
import { CDM, makeOmopDatabase, type OmopDatabase } from './omop-database';

const LIMITS = { deadlineMs: 5_000, settleMs: 1_000 };
const NOT_APPLICABLE: Expected = {
  duplicate_rows: /no second write can be made/,
  expired_key: /cannot be aged/,
  // The server ends the transaction at the sender's deadline.
  late_commit: /did not land when it was let go/,
  ...OF_MEANING,
};

describeWith(
  'the kit and PostgreSQL',
  () => startPostgres(),
  (server) => {
    let place: OmopDatabase;
    beforeAll(async () => {
      place = await makeOmopDatabase(server);
      await server.query(place.database, `CREATE TABLE notes (note text NOT NULL CHECK (note NOT LIKE '% bad'))`);
    });
    const connection = (port: number): PostgresConnection => ({ ...place.connection, port });
    const count = async (text: string): Promise<number> =>
      Number((await server.query(place.database, `SELECT count(*) AS n FROM ${text}`))[0]?.['n']);
    const shared = { patienceMs: 800, target: { port: server.port } };

    describe('postgresSink', () => {
      const make: MakeSink = ({ port }) =>
        postgresSink({
          ...{ name: 'notes', connection: connection(port), ...LIMITS },
          statements: (operation) => ({
            text: 'INSERT INTO notes (note) VALUES ($1)',
            values: [(operation as { note: string }).note],
          }),
        });
      const fixture = (): SinkFixture => ({
        ...shared,
        operation: (text) => ({ note: text }),
        refused: (text) => ({ note: `${text} bad` }),
        writes: ({ operation }) => {
          const { note } = operation as { note: string };
          return count(`notes WHERE note = '${note.replaceAll("'", "''")}'`);
        },
      });
      conforms(sinkConformance(make, fixture), NOT_APPLICABLE);
    });

    describe('omopSink', () => {
      const make: MakeSink = ({ port }) =>
        omopSink({ name: 'cdm', connection: connection(port), schema: CDM, ...LIMITS });
      const person = (text: string, id: number): unknown => ({
        rows: {
          person: [
            {
              person_id: id,
              gender_concept_id: 0,
              year_of_birth: 1970,
              race_concept_id: 0,
              ethnicity_concept_id: 0,
              person_source_value: text,
            },
          ],
        },
      });
      let ids = 0;
      const known = new Map<string, number>();
      const idOf = (text: string): number => {
        const id = known.get(text) ?? (ids += 1);
        known.set(text, id);
        return id;
      };
      const fixture = (): SinkFixture => ({
        ...shared,
        operation: (text) => person(text, idOf(text)),
        refused: (text) => person(text.padEnd(60, '.'), idOf(text)),
        writes: ({ operation }) => {
          const { rows } = operation as { rows: { person: { person_id: number }[] } };
          return count(`${CDM}.person WHERE person_id = ${rows.person[0]?.person_id}`);
        },
      });
      conforms(sinkConformance(make, fixture), NOT_APPLICABLE);
    });
  },
);
