/**
 * Where a PostgreSQL server is and how to get in, in our own words.
 *
 * Invariant: no type of the driver appears here, and what is named beside an address wins over it.
 */
import { parsePostgresAddress } from './postgres-address';

/** A server, as an address or by its parts; what neither says comes from the PG* variables. */
export interface PostgresConnection {
  /** `postgres://user@host:5432/database?sslmode=verify-full`. What is named below wins over it; PG* variables fill in what is missing. */
  readonly address?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  readonly user?: string;
  /** A function is asked at each new connection, so that short-lived passwords work. */
  readonly password?: string | (() => string | Promise<string>);
  /** `true` verifies the server against the system's authorities. */
  readonly tls?: boolean | PostgresTls;
}

/** Certificates and keys are PEM. @default the authorities of Node */
export interface PostgresTls {
  readonly ca?: string | Uint8Array;
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  readonly servername?: string;
}

/** The parts of a connection, and the schema that its address names. */
export function connectionParts(given: string | PostgresConnection): {
  readonly connection: Omit<PostgresConnection, 'address'>;
  readonly schema: string | undefined;
} {
  const { address, ...parts } = typeof given === 'string' ? { address: given } : given;
  const of = address === undefined ? null : parsePostgresAddress(address);
  return { connection: { ...of?.connection, ...parts }, schema: of?.schema };
}
