/**
 * Builds the program in `hapi/` with Maven, once for each of its versions, below `node_modules/.cache/countersign`.
 *
 * Invariant: a build is there whole or not at all, also when two processes make it at once: each builds in a folder of its own and
 * renames it. Nothing outside of the cache is written, the libraries that Maven downloads included.
 */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { endWithUs } from '../../src/testing/end-with-us';
import { type Missing } from './system';

const SOURCE = path.join(__dirname, 'hapi');
const CACHE = path.resolve(__dirname, '../../node_modules/.cache/countersign');
const LIBRARIES = path.join(CACHE, 'maven');
const BUILD_WITHIN_MS = 600_000;
const JAVA_LEAST = 17;

export interface HapiBuild {
  readonly classPath: string;
}

/** The Java of `JAVA_HOME`, else of the path. */
export const java = (): string => {
  const home = process.env['JAVA_HOME'];
  return home ? path.join(home, 'bin', 'java') : 'java';
};

export async function buildHapi(): Promise<HapiBuild | Missing> {
  const version = /version "(?:1\.)?(\d+)/.exec(await said(java(), ['-version']))?.[1];
  if (Number(version ?? 0) < JAVA_LEAST) {
    return {
      missing: `HAPI FHIR needs Java ${JAVA_LEAST} or newer; install a JDK, for instance openjdk-17-jdk-headless`,
    };
  }
  const built = path.join(CACHE, `hapi-${await fingerprint()}`);
  const present = await opened(built);
  if (present) return present;
  if (!(await said('mvn', ['-version'])).includes('Apache Maven')) {
    return { missing: 'HAPI FHIR is built with Maven; install Apache Maven 3.6 or newer and a JDK' };
  }
  await mkdir(CACHE, { recursive: true });
  const making = await mkdtemp(path.join(CACHE, 'hapi-making-'));
  try {
    const why = await maven(making);
    if (why !== null) return { missing: `Maven could not build HAPI FHIR, which needs its registry once: ${why}` };
    await rename(making, built).catch(() => undefined); // another process was faster
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  const made = await opened(built);
  if (!made) throw new Error('The build of HAPI FHIR left no class path.');
  return made;
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['pom.xml', 'src/main/java/countersign/HapiServer.java']) {
    hash.update(await readFile(path.join(SOURCE, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Null while it is not built. */
async function opened(folder: string): Promise<HapiBuild | null> {
  try {
    const libraries = await readFile(path.join(folder, 'libraries'), 'utf8');
    return { classPath: `${path.join(folder, 'target', 'classes')}${path.delimiter}${libraries.trim()}` };
  } catch {
    return null;
  }
}

/** Null when it was built, else what Maven says. */
async function maven(folder: string): Promise<string | null> {
  await cp(SOURCE, folder, { recursive: true });
  const output = path.join(folder, 'listed');
  const child = spawn(
    'mvn',
    [
      ...['-B', '-q', '-f', path.join(folder, 'pom.xml'), `-Dmaven.repo.local=${LIBRARIES}`],
      ...['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${output}`],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const told: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => told.push(chunk.toString()));
  const limit = setTimeout(() => child.kill('SIGKILL'), BUILD_WITHIN_MS);
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
    child.once('error', () => resolve(-1));
    if (child.pid !== undefined) endWithUs(child.pid, new Promise<void>((ended) => child.once('exit', () => ended())));
  });
  clearTimeout(limit);
  if (code !== 0)
    return (
      told
        .join('')
        .split('\n')
        .find((line) => line.startsWith('[ERROR]')) ?? `exit code ${code}`
    );
  await writeFile(path.join(folder, 'libraries'), await readFile(output)); // named so only once the build is whole
  return null;
}

/** What a program prints, on either stream; empty when it does not run. */
async function said(program: string, flags: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, flags, { timeout: 60_000 });
    return `${stdout}${stderr}`;
  } catch {
    return '';
  }
}
