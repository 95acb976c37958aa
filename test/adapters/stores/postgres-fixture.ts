/** Empty PostgreSQL stores for tests, each in a schema of its own, made by the owner and used by a worker with few rights. */
import {
  migratePostgresStore,
  postgresContentStore,
  postgresStore,
  type PostgresStoreOptions,
} from '../../../src/adapters/stores';
import { type PostgresServer } from '../../systems/postgres';

export const WORKER = 'countersign_worker';

export interface PostgresHome {
  readonly schema: string;
  /** As the worker. */
  readonly address: string;
  readonly ownerAddress: string;
}

let homes = 0;

export async function makeHome(server: PostgresServer): Promise<PostgresHome> {
  const role = `IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${WORKER}') THEN CREATE ROLE ${WORKER} LOGIN; END IF`;
  await server.query('postgres', `DO $$ BEGIN ${role}; END $$`);
  const schema = `home_${(homes += 1)}`;
  const at = (user?: string): string => `${server.address('postgres', user)}?schema=${schema}`;
  await migratePostgresStore({ connection: at(), grantTo: WORKER });
  return { schema, address: at(WORKER), ownerAddress: at() };
}

/** The server's own code for a full disk, at every create, until the trigger `full_now` is dropped. */
export function raisesFull(schema: string): string {
  return `CREATE FUNCTION ${schema}.full() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_now BEFORE INSERT ON ${schema}.entries EXECUTE FUNCTION ${schema}.full()`;
}

type Options = Omit<PostgresStoreOptions, 'connection'>;

export const journalIn = (home: PostgresHome, options: Options = {}): ReturnType<typeof postgresStore> =>
  postgresStore({ connection: home.address, ...options });

export const contentsIn = (home: PostgresHome, options: Options = {}): ReturnType<typeof postgresContentStore> =>
  postgresContentStore({ connection: home.address, ...options });
