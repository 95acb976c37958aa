/**
 * Where the tables of a PostgreSQL store are: a server and a schema.
 *
 * Invariant: what is wrong with either is told as a `StoreError`, like every fault of a store.
 */
import { StoreError } from '../../ports';
import {
  checkedSchema,
  DEFAULT_SCHEMA,
  PostgresAddressError,
  shownPostgresAddress,
} from '../postgres/postgres-address';
import { connectionParts, type PostgresConnection } from '../postgres/postgres-connection';

export interface PostgresPlace {
  readonly connection: Omit<PostgresConnection, 'address'>;
  readonly schema: string;
}

export function located(options: {
  readonly connection: string | PostgresConnection;
  readonly schema?: string;
}): PostgresPlace {
  return told(() => {
    const { connection, schema } = connectionParts(options.connection);
    return { connection, schema: checkedSchema(options.schema ?? schema ?? DEFAULT_SCHEMA) };
  });
}

/** The address of a store as it may be shown. */
export const shownPlace = (address: string): string => told(() => shownPostgresAddress(address));

function told<T>(read: () => T): T {
  try {
    return read();
  } catch (fault) {
    throw fault instanceof PostgresAddressError ? new StoreError('store_invalid_path', fault.message) : fault;
  }
}
