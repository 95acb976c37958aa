/**
 * `up [--json]`: starts the environment in the background and says where everything is; says the same again when it is already
 * running. Ends with 0 only when all of it is ready.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { environmentFolder, readState, type EnvironmentPlaces } from './environment-state';
import { REPOSITORY } from './repository';

const PATIENCE_MS = 180_000;
const TAIL_LINES = 20;

async function main(): Promise<number> {
  const running = readState();
  if (running === null) console.error('Starting a Temporal server, a FHIR server, a billing service and a worker …');
  const places = running === null ? await start() : await ready(() => readState() !== null);
  if (places === null) return 1;
  if (process.argv.includes('--json')) console.log(JSON.stringify(places));
  else tell(places, running !== null);
  return 0;
}

async function start(): Promise<EnvironmentPlaces | null> {
  mkdirSync(environmentFolder(), { recursive: true });
  const logFile = path.join(environmentFolder(), 'up.log');
  const log = openSync(logFile, 'w', 0o600);
  const child = spawn(process.execPath, ['--import', 'tsx', path.join(__dirname, 'environment.ts')], {
    cwd: REPOSITORY,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
  const interrupted = (): void => void child.kill('SIGTERM');
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  const places = await ready(() => child.exitCode === null && child.signalCode === null);
  if (places === null) {
    child.kill('SIGTERM');
    const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
    console.error(`The environment did not become ready; the end of its log (${logFile}):\n${tail}`);
  }
  return places;
}

async function ready(isAlive: () => boolean): Promise<EnvironmentPlaces | null> {
  const deadline = performance.now() + PATIENCE_MS;
  while (isAlive() && performance.now() < deadline) {
    const places = readState()?.places;
    if (places) return places;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return null;
}

function tell(places: EnvironmentPlaces, already: boolean): void {
  console.log(
    [
      already ? 'Already up:' : 'Up:',
      `  Temporal     ${places.temporal}`,
      `  Web UI       ${places.webUi}`,
      `  FHIR server  ${places.fhir}`,
      `  billing      ${places.billing}`,
      `  worker       task queue "${places.taskQueue}"`,
      `  journal      ${places.journal}`,
      `  log          ${path.join(environmentFolder(), 'up.log')}`,
      'For a shell that works with it:',
      `  export TEMPORAL_ADDRESS=${places.temporal}`,
      `  export COUNTERSIGN_JOURNAL=${quoted(places.journal)}`,
      `  export COUNTERSIGN_CONTENTS=${quoted(places.contents)}`,
      `  export COUNTERSIGN_TASK_QUEUE=${places.taskQueue}`,
      'End it with ./temporal-dev.sh down.',
    ].join('\n'),
  );
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

void main().then((code) => (process.exitCode = code));
