/**
 * What a failure of PostgreSQL means for a store: one table from SQLSTATE, and one from what happens on the way to the server.
 *
 * Invariant: every failure leaves as a `StoreError` that names the entry and the state and says what to do. Nothing that the
 * server or the driver said goes along, not even as a cause: their texts quote values, addresses and users.
 */
import { StoreError, type StoreErrorCode } from '../../ports';

type Meaning = readonly [code: StoreErrorCode, why: string];

const LOST: Meaning = [
  'store_unavailable',
  'the server cannot be reached, or the connection to it was lost; check both, then repeat',
];
const REFUSED: Meaning = [
  'store_permission_denied',
  'the server refused this user; check its password and pg_hba.conf',
];
const SLOW: Meaning = ['store_unavailable', 'the server did not answer in time; find out what holds it, then repeat'];
const NOT_MADE: Meaning = [
  'store_unavailable',
  'its tables are not there; check database and schema, or make them with "countersign journal init" as their owner',
];
const DAMAGED: Meaning = ['store_io_failed', 'the server reports damage; check its disk and log before repeating'];
const BUSY: Meaning = ['store_unavailable', 'the server is out of resources or connections; repeat later'];
const STOPPING: Meaning = ['store_unavailable', 'the server is starting or stopping; repeat later'];

/** Raised by our own functions on the server. */
export const UNSAFE_SERVER_STATE = 'CS001';
export const UNSAFE_ENTRY_STATE = 'CS002';

const STATES: Readonly<Record<string, Meaning>> = {
  [UNSAFE_SERVER_STATE]: [
    'store_unavailable',
    'the server runs with fsync off, so what it acknowledges can be lost; turn fsync on',
  ],
  [UNSAFE_ENTRY_STATE]: [
    'store_unsafe_entry',
    'an entry stands where a folder belongs, or a folder where an entry belongs; use another name',
  ],
  '25006': [
    'store_read_only',
    'the server or this user takes no writes; connect to the primary, as a user that may write',
  ],
  '28000': REFUSED,
  '28P01': REFUSED,
  '3D000': ['store_unavailable', 'the database does not exist; make it, or correct the address'],
  '3F000': NOT_MADE,
  '42P01': NOT_MADE,
  '42883': NOT_MADE,
  '42501': [
    'store_permission_denied',
    'this user may not do that; grant it what docs/stores.md lists, as the owner of the tables',
  ],
  '53100': ['store_full', 'the server has no space left; free some, then repeat'],
  '54000': ['store_entry_too_large', 'it exceeds a limit of the server; split it'],
  '55P03': SLOW,
  '57014': SLOW,
  '58030': DAMAGED,
  XX001: DAMAGED,
  XX002: DAMAGED,
};

/** By the first two letters of a SQLSTATE, where the table above has no line. */
const CLASSES: Readonly<Record<string, Meaning>> = {
  '08': LOST,
  '28': REFUSED,
  '40': BUSY,
  '53': BUSY,
  '57': STOPPING,
};

/** Faults that are ours, or that the driver tells only by its text. */
export type PostgresFault =
  'standby' | 'warned' | 'password' | 'no_tls' | 'no_password' | 'slow' | 'no_connection' | 'lost';

const FAULTS: Readonly<Record<PostgresFault, Meaning>> = {
  standby: [
    'store_unavailable',
    'the server is a standby, which may lag behind; connect to the primary (a copy of it is no journal)',
  ],
  warned: [
    'store_unavailable',
    'the server warned that the commit may not be on its replicas; let them catch up, then repeat',
  ],
  password: ['store_unavailable', 'the password could not be had from where it is kept; check that, then repeat'],
  no_tls: ['store_unavailable', 'the server does not speak TLS; set it up, or allow sslmode=disable on a safe network'],
  no_password: REFUSED,
  slow: SLOW,
  no_connection: ['store_unavailable', 'no connection was free or could be made in time; check the server'],
  lost: LOST,
};

const DRIVER_TEXTS: readonly (readonly [RegExp, PostgresFault])[] = [
  [/SSL connection|TLS/i, 'no_tls'],
  [/^SASL|password/i, 'no_password'],
  [/read timeout/i, 'slow'],
  [/timeout/i, 'no_connection'],
];

/** Turns any failure of the driver into a `StoreError`; one that is one already passes unchanged. */
export function postgresFault(fault: unknown, action: string, entry: string): StoreError {
  if (fault instanceof StoreError) return fault;
  const [name, [code, why]] = meaningOf(fault);
  const what = entry === '' ? 'the root' : `"${entry}"`;
  return new StoreError(code, `${action} of ${what} failed with ${name}: ${why}`);
}

/** The statement was rolled back because of what others did at the same time; the same one may well succeed. */
export function isPassing(fault: unknown): boolean {
  const state = stateOf(fault);
  return state === '40001' || state === '40P01';
}

/** The commit was made, and may not be on its replicas. */
export function isWarned(fault: unknown): boolean {
  return (fault as { fault?: PostgresFault }).fault === 'warned';
}

/** The SQLSTATE, when it is the server that failed the statement. */
export function stateOf(fault: unknown): string | null {
  const { code, severity } = fault as { code?: unknown; severity?: unknown };
  return typeof severity === 'string' && typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

function meaningOf(fault: unknown): readonly [name: string, meaning: Meaning] {
  const state = stateOf(fault);
  if (state !== null) {
    const unknown: Meaning = [
      'store_io_failed',
      'the statement failed; look into the log of the server before repeating',
    ];
    return [`SQLSTATE ${state}`, STATES[state] ?? CLASSES[state.slice(0, 2)] ?? unknown];
  }
  const { fault: own, code, message } = fault as { fault?: PostgresFault; code?: unknown; message?: unknown };
  if (own !== undefined && Object.hasOwn(FAULTS, own)) return [own, FAULTS[own]];
  const told = DRIVER_TEXTS.find(([text]) => text.test(String(message)))?.[1] ?? 'lost';
  const name = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? code : told;
  return [name, FAULTS[told]];
}
