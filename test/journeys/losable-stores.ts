/**
 * Journals that can be lost in the middle of a plan, each by a fault of its own kind, and given back.
 *
 * Invariant: what is lost is lost to the worker's process, by means of the machine or of the server: nothing stands between the store
 * and what it calls. A store joins with a table of rows.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, renameSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { fileStore, openStore } from '../../src/adapters/stores';
import type { Store, StoreErrorCode } from '../../src/ports';
import { makeHome, raisesFull, WORKER, type PostgresHome } from '../adapters/stores/postgres-fixture';
import { startTcpProxy, type TcpProxy } from '../adapters/stores/tcp-proxy';
import type { PostgresServer } from '../systems/postgres';
import type { S3Server } from '../systems/s3-server';
import { isMissing } from '../systems/system';
import { READ_ONLY, startVersitygw } from '../systems/versitygw';

/** What a row may do with the worker. */
export interface WorkerHandle {
  readonly pid: number;
  /** Runs a command inside of the worker's process, whose mounts it sees. */
  runs(...command: readonly string[]): Promise<void>;
}

export interface Losable {
  /** As `--journal` and `openStore` take it. */
  readonly journal: string;
  /** Put before the worker's command, where the outage is made in the worker's own view of the machine. */
  readonly prelude?: readonly string[];
  /** While this file is there, the worker's disk is slow. */
  readonly slowWhile?: string;
  /** Variables of the worker, and of who looks. */
  readonly env?: Readonly<Record<string, string>>;
  /** The journal as this process reads it when all is over. */
  look(worker: WorkerHandle): Store;
  lose(worker: WorkerHandle): Promise<unknown> | void;
  restore(worker: WorkerHandle): Promise<unknown> | void;
  end?(): Promise<unknown>;
}

export interface OutageRow {
  readonly name: string;
  /** One clear sentence where this machine cannot make it. */
  readonly missing?: string;
  /** The fault of the store that the plan shows meanwhile; `slow` is none. */
  readonly shows: StoreErrorCode | 'slow';
  make(folder: string): Promise<Losable>;
}

const AS_ROOT = process.getuid?.() === 0;
const NAMESPACE = AS_ROOT ? ['unshare', '-m'] : ['unshare', '-rm'];
const runs = ([command, ...args]: readonly string[]): boolean => spawnSync(command as string, args).status === 0;
const CANNOT_MOUNT = runs([...NAMESPACE, 'mount', '-t', 'tmpfs', 'none', os.tmpdir()])
  ? {}
  : { missing: 'a process cannot mount a filesystem of its own here' };

/** The superuser stays who it is, and loses the right to pass over permissions: like everybody else, it then needs them. */
const BOUND_BY_PERMISSIONS = AS_ROOT ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : [];
const CANNOT_BIND =
  !AS_ROOT || runs([...BOUND_BY_PERMISSIONS, 'true'])
    ? {}
    : { missing: 'the superuser cannot give up its right to pass over permissions here' };

/** On a small filesystem of the worker's own, which ends with it. */
function onOwnDisk(folder: string): Pick<Losable, 'journal' | 'prelude' | 'look'> {
  const journal = path.join(folder, 'disk');
  mkdirSync(journal);
  const script = 'mount -t tmpfs -o size=512k none "$1" && shift && exec "$@"';
  return {
    journal,
    prelude: [...NAMESPACE, 'sh', '-c', script, 'sh', journal],
    look: ({ pid }) => fileStore(`/proc/${pid}/root${journal}`),
  };
}

function inFolder(folder: string): Pick<Losable, 'journal' | 'look'> {
  const journal = path.join(folder, 'journal');
  mkdirSync(journal);
  return { journal, look: () => fileStore(journal) };
}

export const ON_FILES: readonly OutageRow[] = [
  {
    name: 'the folder is gone',
    shows: 'store_unavailable',
    make: async (folder) => {
      const place = inFolder(folder);
      return {
        ...place,
        lose: () => renameSync(place.journal, `${place.journal}-away`),
        restore: () => renameSync(`${place.journal}-away`, place.journal),
      };
    },
  },
  {
    name: 'an empty folder stands in its place, as where a disk is not mounted',
    shows: 'store_unavailable',
    make: async (folder) => {
      const place = inFolder(folder);
      return {
        ...place,
        lose: () => {
          renameSync(place.journal, `${place.journal}-away`);
          mkdirSync(place.journal);
        },
        restore: () => {
          rmdirSync(place.journal); // fails if anything was written there
          renameSync(`${place.journal}-away`, place.journal);
        },
      };
    },
  },
  {
    name: 'the worker may not touch the folder any more',
    shows: 'store_permission_denied',
    ...CANNOT_BIND,
    make: async (folder) => {
      const place = inFolder(folder);
      return {
        ...place,
        prelude: BOUND_BY_PERMISSIONS,
        lose: () => chmodSync(place.journal, 0o000),
        restore: () => chmodSync(place.journal, 0o700),
      };
    },
  },
  {
    name: 'the disk becomes read-only',
    shows: 'store_read_only',
    ...CANNOT_MOUNT,
    make: async (folder) => {
      const disk = onOwnDisk(folder);
      return {
        ...disk,
        lose: (worker) => worker.runs('mount', '-o', 'remount,ro', disk.journal),
        restore: (worker) => worker.runs('mount', '-o', 'remount,rw', disk.journal),
      };
    },
  },
  {
    name: 'the disk is full',
    shows: 'store_full',
    ...CANNOT_MOUNT,
    make: async (folder) => {
      const disk = onOwnDisk(folder);
      const ballast = path.join(disk.journal, '.tmp', 'ballast');
      return {
        ...disk,
        lose: (worker) => worker.runs('sh', '-c', `cat /dev/zero > "${ballast}" 2>/dev/null || true`),
        restore: (worker) => worker.runs('rm', ballast),
      };
    },
  },
  {
    name: 'the disk takes longer for each flush than a send may take',
    shows: 'slow',
    make: async (folder) => {
      const slowWhile = path.join(folder, 'slow');
      return {
        ...inFolder(folder),
        slowWhile,
        lose: () => writeFileSync(slowWhile, ''),
        restore: () => rmSync(slowWhile),
      };
    },
  },
];

/** Longer than every retry of a client. */
const A_MINUTE_MS = 60_000;

function slowedBy(wire: TcpProxy): Pick<Losable, 'lose' | 'restore' | 'end'> {
  return {
    lose: () => void (wire.delayMs = 2_500),
    restore: () => void (wire.delayMs = 0),
    end: () => wire.close(),
  };
}

export function onPostgres(server: PostgresServer): readonly OutageRow[] {
  type Means = Pick<Losable, 'lose' | 'restore'> & Partial<Losable>;
  const row = (
    name: string,
    shows: OutageRow['shows'],
    means: (home: PostgresHome) => Means | Promise<Means>,
  ): OutageRow => ({
    name,
    shows,
    make: async () => {
      const home = await makeHome(server);
      return { journal: home.address, look: () => openStore(home.address), ...(await means(home)) };
    },
  });
  const asOwner = (statements: string) => (): Promise<unknown> => server.query('postgres', statements);
  const ofWorker = (change: string): string =>
    `ALTER ROLE ${WORKER} ${change}; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${WORKER}'`;
  return [
    row('the server is killed and started again', 'store_unavailable', () => ({
      lose: () => server.kill(),
      restore: () => server.start(),
    })),
    row('the server answers nothing', 'store_unavailable', () => ({
      lose: () => server.freeze(),
      restore: () => server.thaw(),
    })),
    row('it takes no writes', 'store_read_only', () => ({
      lose: asOwner(ofWorker('SET default_transaction_read_only = on')),
      restore: asOwner(ofWorker('RESET default_transaction_read_only')),
    })),
    row('the worker has lost its rights', 'store_permission_denied', ({ schema }) => ({
      lose: asOwner(`REVOKE ALL ON ${schema}.entries FROM ${WORKER}`),
      restore: asOwner(`GRANT SELECT, INSERT ON ${schema}.entries TO ${WORKER}`),
    })),
    row('it says that its disk is full', 'store_full', ({ schema }) => ({
      lose: asOwner(raisesFull(schema)),
      restore: asOwner(`DROP TRIGGER full_now ON ${schema}.entries`),
    })),
    row('each answer takes longer than a send may take', 'slow', async (home) => {
      const wire = await startTcpProxy(server.port);
      return { journal: home.address.replace(`:${server.port}/`, `:${wire.port}/`), ...slowedBy(wire) };
    }),
  ];
}

const DISK_BYTES = 4_000_000;

/** Until nothing fits any more, in objects that become smaller as the room does. The first is a large one. */
async function fillDisk({ client }: S3Server, bucket: string): Promise<void> {
  let name = 0;
  for (const bytes of [400_000, 4_096, 1]) {
    for (let fits = true; fits && name < 5_000; name += 1) {
      const put = new PutObjectCommand({ Bucket: bucket, Key: `${name}`, Body: new Uint8Array(bytes) });
      fits = await client.send(put).then(
        () => true,
        () => false,
      );
    }
  }
}

export function onS3(server: S3Server): readonly OutageRow[] {
  const env = { AWS_ACCESS_KEY_ID: server.access.accessKeyId, AWS_SECRET_ACCESS_KEY: server.access.secretAccessKey };
  const inBucket = async (of: S3Server, endpoint = of.endpoint): Promise<Pick<Losable, 'journal' | 'env' | 'look'>> => {
    const journal = `s3://${await of.makeBucket()}/journal?endpoint=${endpoint}&region=${of.region}`;
    return { journal, env, look: () => openStore(journal) };
  };
  return [
    {
      name: 'the server is away for a minute',
      shows: 'store_unavailable',
      make: async () => ({
        ...(await inBucket(server)),
        lose: () => server.kill(),
        restore: async () => {
          await delay(A_MINUTE_MS);
          await server.start();
        },
      }),
    },
    {
      name: 'the server takes no writes',
      shows: 'store_permission_denied', // as S3 says it of whatever is forbidden
      make: async () => {
        const restarted = async (): Promise<void> => {
          await server.kill();
          await server.start();
        };
        const mark = path.join(server.server.folder, READ_ONLY);
        return {
          ...(await inBucket(server)),
          lose: () => {
            writeFileSync(mark, '');
            return restarted();
          },
          restore: () => {
            rmSync(mark);
            return restarted();
          },
        };
      },
    },
    {
      name: 'the disk of the server is full',
      shows: 'store_full',
      ...CANNOT_MOUNT,
      make: async () => {
        const small = await startVersitygw({ diskBytes: DISK_BYTES });
        if (isMissing(small)) throw new Error(small.missing);
        const ballast = await small.makeBucket();
        return {
          ...(await inBucket(small)),
          lose: () => fillDisk(small, ballast),
          restore: () => small.client.send(new DeleteObjectCommand({ Bucket: ballast, Key: '0' })),
          end: () => small.end(),
        };
      },
    },
    {
      name: 'the server answers nothing',
      shows: 'store_unavailable',
      make: async () => ({
        ...(await inBucket(server)),
        lose: () => server.freeze(),
        restore: () => server.thaw(),
      }),
    },
    {
      name: 'each answer takes longer than a send may take',
      shows: 'slow',
      make: async () => {
        const wire = await startTcpProxy(server.server.port);
        return { ...(await inBucket(server, `http://127.0.0.1:${wire.port}`)), ...slowedBy(wire) };
      },
    },
  ];
}
