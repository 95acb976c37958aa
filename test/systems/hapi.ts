/**
 * A real FHIR R4 server for tests: HAPI FHIR JPA as the small program in `hapi/`, built by Maven, on PostgreSQL where one can be
 * had and on H2 in memory elsewhere.
 *
 * Invariant: it answers when `startHapi` returns; it listens on 127.0.0.1 only; it does not outlive the process that started it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';
import { endWithUs } from '../../src/testing/end-with-us';
import { isMissing, type Missing, type Running } from './system';
import { buildHapi, java } from './hapi-build';
import { startPostgres } from './postgres';

const READY_WITHIN_MS = 300_000;
const KEPT_LINES = 200;

export interface HapiOptions {
  /** @default 'postgres' where it can be had, else 'h2' */
  readonly database?: 'postgres' | 'h2';
}

export interface Hapi extends Running {
  /** The FHIR base, without a slash at the end. */
  readonly baseUrl: string;
  readonly database: 'postgres' | 'h2';
  /** Resolves when the next request that asks for it by `x-hold-type` holds its transaction open, before its commit. */
  holding(): Promise<void>;
}

export async function startHapi(options: HapiOptions = {}): Promise<Hapi | Missing> {
  const built = await buildHapi();
  if (isMissing(built)) return built;
  const postgres = options.database === 'h2' ? null : await startPostgres();
  if (postgres !== null && isMissing(postgres)) {
    return options.database === 'postgres' ? postgres : startHapi({ ...options, database: 'h2' });
  }
  try {
    const program = await launch(built.classPath, postgres?.port ?? null);
    return {
      baseUrl: `http://127.0.0.1:${program.port}/fhir`,
      database: postgres === null ? 'h2' : 'postgres',
      holding: () => program.line('holding'),
      end: async () => {
        await program.end();
        await postgres?.end();
      },
    };
  } catch (error) {
    await postgres?.end();
    throw error;
  }
}

interface Program {
  readonly port: number;
  line(start: string): Promise<void>;
  end(): Promise<void>;
}

async function launch(classPath: string, postgresPort: number | null): Promise<Program> {
  const database =
    postgresPort === null
      ? 'jdbc:h2:mem:fhir;DB_CLOSE_DELAY=-1'
      : `jdbc:postgresql://127.0.0.1:${postgresPort}/postgres`;
  const settings = {
    'server.address': '127.0.0.1',
    'server.port': '0',
    'spring.main.allow-circular-references': 'true',
    'spring.main.banner-mode': 'off',
    'spring.datasource.url': database,
    ...(postgresPort === null ? {} : { 'spring.datasource.username': 'postgres' }),
  };
  const child = spawn(
    java(),
    [
      ...['-Xmx1g', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', classPath, 'countersign.HapiServer'],
      ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`),
    ],
    { cwd: path.join(__dirname, 'hapi'), stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  );
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  if (child.pid !== undefined) endWithUs(child.pid, exited);
  const said = linesOf(child);
  const limit = setTimeout(() => child.kill('SIGKILL'), READY_WITHIN_MS);
  const listening = said.next('listening ');
  const first = await Promise.race([listening, exited]);
  clearTimeout(limit);
  if (first === undefined) throw new Error(`HAPI FHIR did not start:\n${said.last.join('\n')}`);
  return {
    port: Number(first.split(' ')[1]),
    line: async (start) => void (await said.next(start)),
    end: async () => {
      child.kill('SIGKILL'); // what it keeps is thrown away
      await exited;
    },
  };
}

interface Lines {
  readonly last: readonly string[];
  next(start: string): Promise<string>;
}

function linesOf(child: ChildProcess): Lines {
  const last: string[] = [];
  let waiting: { start: string; found: (line: string) => void }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    readline.createInterface({ input: stream }).on('line', (line) => {
      last.push(line);
      if (last.length > KEPT_LINES) last.shift();
      for (const { found } of waiting.filter(({ start }) => line.startsWith(start))) found(line);
      waiting = waiting.filter(({ start }) => !line.startsWith(start));
    });
  }
  return { last, next: (start) => new Promise((found) => waiting.push({ start, found })) };
}
