/**
 * A store by its address: a folder, `postgres://…` or `s3://…`.
 *
 * Invariant: this table is all that tells kinds of stores apart by their names. What is shown of an address never holds a user,
 * a password or a key; an address of no known kind is refused, never taken for a folder.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { type ContentStore, type Store, StoreError } from '../../ports';
import { fileStore } from './file-store';
import { isPostgresAddress } from '../postgres/postgres-address';
import { shownPlace } from './postgres-place';
import { migratePostgresStore, postgresStoreVersion } from './postgres-migration';
import { postgresContentStore, postgresStore } from './postgres-store';
import { isS3Address, parseS3Address } from './s3-address';
import { s3ContentStore, s3Store } from './s3-store';

/** Limits of the store that is opened, whatever its kind. */
export interface OpenStoreOptions {
  /** Largest entry that is written or read, in bytes. @default 16 MiB */
  readonly maxEntryBytes?: number;
}

/** `close` ends connections, where there are any; those that are not in use never keep a process from ending. */
export type Closable = { close?(): Promise<void> };

export interface MakeStoreOptions {
  /** In PostgreSQL: the role of the workers, which is granted what they need. */
  readonly grantTo?: string;
}

interface Kind {
  matches(address: string): boolean;
  journal(address: string, options: OpenStoreOptions): Store & Closable;
  contents(address: string, options: OpenStoreOptions): ContentStore & Closable;
  /** Where contents of a journal go unless somebody says otherwise. */
  contentsBeside(address: string): string;
  shown(address: string): string;
  isThere(address: string): Promise<boolean>;
  /** Makes what an empty store needs; what is there stays. */
  make(address: string, options: MakeStoreOptions): Promise<void>;
  /** Whether the second stands inside of the first. */
  contains(outer: string, inner: string): boolean;
}

const ADDRESS = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

const FOLDER: Kind = {
  matches: (address) => !ADDRESS.test(address),
  journal: (address, options) => fileStore(address, options),
  contents: (address, options) => fileStore(address, options),
  contentsBeside: (address) => `${withoutSlash(address)}-contents`,
  shown: (address) => address,
  isThere: async (address) => statSync(address, { throwIfNoEntry: false })?.isDirectory() === true,
  make: async (address, options) => {
    refuseRoles(options);
    await fileStore(address, { createRoot: true }).list('');
  },
  contains: (outer, inner) => `${path.resolve(inner)}/`.startsWith(`${path.resolve(outer)}/`),
};

const POSTGRES: Kind = {
  matches: isPostgresAddress,
  journal: (address, options) => postgresStore({ connection: address, ...options }),
  contents: (address, options) => postgresContentStore({ connection: address, ...options }),
  contentsBeside: (address) => address, // a table of their own
  shown: shownPlace,
  isThere: async (address) => (await postgresStoreVersion({ connection: address })) > 0,
  make: async (address, options) => void (await migratePostgresStore({ connection: address, ...options })),
  contains: (outer, inner) => shownPlace(outer) === shownPlace(inner),
};

const S3: Kind = {
  matches: isS3Address,
  journal: (address, options) => s3Store({ ...parseS3Address(address), ...options }),
  contents: (address, options) => s3ContentStore({ ...parseS3Address(address), ...options }),
  contentsBeside: (address) => {
    if (parseS3Address(address).prefix === undefined) {
      const reason = 'a journal that is a whole bucket has no place beside it: another bucket may be anybody’s; say';
      throw new StoreError('store_invalid_path', `${reason} where its contents are`);
    }
    const [, place = '', query = ''] = /^([^?]*)(.*)$/s.exec(address) ?? [];
    return `${withoutSlash(place)}-contents${query}`;
  },
  shown: (address) => {
    const { bucket, prefix = '' } = parseS3Address(address);
    return `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  },
  isThere: async () => true, // nothing is made beforehand, so an empty one is as good as one that is not there
  make: async (address, options) => {
    refuseRoles(options);
    await s3Store(parseS3Address(address)).list('');
  },
  contains: (outer, inner) => {
    const [one, other] = [parseS3Address(outer), parseS3Address(inner)];
    if (one.bucket !== other.bucket || one.endpoint !== other.endpoint) return false;
    return `${other.prefix ?? ''}/`.startsWith(one.prefix === undefined ? '' : `${one.prefix}/`);
  },
};

const KINDS: readonly Kind[] = [FOLDER, POSTGRES, S3];

/** The journal at an address. It is not asked for until it is used, and never made. */
export function openStore(address: string, options: OpenStoreOptions = {}): Store & Closable {
  return kindOf(address).journal(address, options);
}

/** The content store at an address; that of a PostgreSQL journal has the same address. */
export function openContentStore(address: string, options: OpenStoreOptions = {}): ContentStore & Closable {
  return kindOf(address).contents(address, options);
}

export function isFolderAddress(address: string): boolean {
  return kindOf(address) === FOLDER;
}

export function contentsBeside(address: string): string {
  return kindOf(address).contentsBeside(address);
}

/** The address as it may be printed. */
export function shownAddress(address: string): string {
  return kindOf(address).shown(address);
}

/** Whether there is a store at all; throws a `StoreError` when that cannot be found out. */
export function storeIsThere(address: string): Promise<boolean> {
  return kindOf(address).isThere(address);
}

/** Makes an empty store, or leaves the one that is there. In PostgreSQL, that is for the owner of its tables. */
export function makeStore(address: string, options: MakeStoreOptions = {}): Promise<void> {
  return kindOf(address).make(address, options);
}

export function storeContains(outer: string, inner: string): boolean {
  const kind = kindOf(outer);
  return kind === kindOf(inner) && kind.contains(outer, inner);
}

function kindOf(address: string): Kind {
  const kind = KINDS.find(({ matches }) => matches(address));
  if (kind !== undefined) return kind;
  const reason = 'the address of a store is a folder, or begins with postgres:// or s3://; correct it';
  throw new StoreError('store_invalid_path', reason);
}

function refuseRoles({ grantTo }: MakeStoreOptions): void {
  if (grantTo === undefined) return;
  throw new StoreError('store_invalid_path', 'only a store in PostgreSQL has roles to grant to; leave the role out');
}

function withoutSlash(folder: string): string {
  return folder.length > 1 ? folder.replace(/\/+$/, '') : folder;
}
