/**
 * versitygw, an S3 server over a folder, built from the Go module proxy: conditional PUTs with one winner, real resets and real
 * versions. Invariant: as of `ServerProcess`; built once a machine.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Missing } from './system';
import { cachedBuild } from './cached-build';
import { ACCESS, answersHttp, REGION, S3Server } from './s3-server';
import { ServerProcess } from './server-process';

const VERSION = 'v1.8.0';
/** While the server's folder holds a file of this name, it starts as one that takes no writes. */
export const READ_ONLY = 'read-only';
const BUILD_WITHIN_MS = 10 * 60_000;

export interface VersitygwOptions {
  /** Lets buckets keep versions. @default false */
  readonly versions?: boolean;
  /** Its disk is its own, and no larger than this; what it holds does not outlive a kill. @default the machine's */
  readonly diskBytes?: number;
}

export async function startVersitygw({ versions = false, diskBytes }: VersitygwOptions = {}): Promise<
  S3Server | Missing
> {
  const program = findVersitygw();
  if (typeof program !== 'string') return program;
  const server = await ServerProcess.open({
    name: 'versitygw',
    command: (port, folder) => {
      const [data, kept] = [path.join(folder, 'data'), path.join(folder, 'versions')];
      for (const made of [data, kept]) mkdirSync(made, { recursive: true });
      const readOnly = existsSync(path.join(folder, READ_ONLY)) ? ['--readonly'] : [];
      const flags = [...readOnly, '--quiet', '--keep-alive', '--region', REGION, '--port', `127.0.0.1:${port}`];
      const server = [program, ...flags, 'posix', ...(versions ? ['--versioning-dir', kept] : []), data] as const;
      return diskBytes === undefined ? server : [...onSmallDisk(diskBytes, data), ...server];
    },
    env: { ROOT_ACCESS_KEY_ID: ACCESS.accessKeyId, ROOT_SECRET_ACCESS_KEY: ACCESS.secretAccessKey },
    answers: answersHttp,
    readyWithinMs: 30_000,
  });
  return new S3Server(server);
}

/** Runs a command whose view of the machine has a small disk at `folder`. */
function onSmallDisk(bytes: number, folder: string): readonly [string, ...string[]] {
  const mount = `mount -t tmpfs -o size=${bytes} none "$1" && shift && exec "$@"`;
  return ['unshare', process.getuid?.() === 0 ? '-m' : '-rm', 'sh', '-c', mount, 'sh', folder];
}

function findVersitygw(): string | Missing {
  try {
    const folder = cachedBuild(`versitygw-${VERSION}-${process.platform}-${process.arch}`, (made) => {
      execFileSync('go', ['install', `github.com/versity/versitygw/cmd/versitygw@${VERSION}`], {
        env: { ...process.env, GOBIN: made, GOFLAGS: '' },
        stdio: ['ignore', 'ignore', 'pipe'],
        timeout: BUILD_WITHIN_MS,
      });
    });
    return path.join(folder, 'versitygw');
  } catch (fault) {
    const noGo = (fault as NodeJS.ErrnoException).code === 'ENOENT';
    return {
      missing: noGo
        ? 'it is built with Go, which is not installed; install Go 1.24 or newer and put "go" on the PATH'
        : `it could not be built with "go install …/versitygw@${VERSION}"; give access to the Go module proxy`,
    };
  }
}
