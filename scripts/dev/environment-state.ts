/**
 * The file that says what `up` has started. Invariant: its owner is the one process that runs the environment; a file whose
 * owner has ended counts as absent, whatever now has that pid.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isStill, type ProcessIdentity } from './process-identity';
import { CACHE } from './repository';

export interface EnvironmentPlaces {
  readonly temporal: string;
  readonly webUi: string;
  readonly fhir: string;
  readonly billing: string;
  readonly taskQueue: string;
  readonly journal: string;
  readonly contents: string;
}

export interface EnvironmentState {
  readonly owner: ProcessIdentity;
  /** Null until all of it is ready. */
  readonly places: EnvironmentPlaces | null;
}

/** Another folder is another environment: tests use one of their own. */
export const environmentFolder = (): string => process.env['COUNTERSIGN_DEV_FOLDER'] ?? path.join(CACHE, 'dev');

const stateFile = (): string => path.join(environmentFolder(), 'state.json');

export function readState(): EnvironmentState | null {
  let state: EnvironmentState;
  try {
    state = JSON.parse(readFileSync(stateFile(), 'utf8')) as EnvironmentState;
  } catch {
    return null;
  }
  return isStill(state.owner) ? state : null;
}

/** False when a living environment owns the folder. */
export function claimState(owner: ProcessIdentity): boolean {
  mkdirSync(environmentFolder(), { recursive: true });
  if (readState() !== null) return false;
  rmSync(stateFile(), { force: true });
  try {
    writeFileSync(stateFile(), JSON.stringify({ owner, places: null } satisfies EnvironmentState), { flag: 'wx' });
    return true;
  } catch {
    return false;
  }
}

export function publishState(state: EnvironmentState): void {
  const draft = `${stateFile()}.${state.owner.pid}`;
  writeFileSync(draft, JSON.stringify(state));
  renameSync(draft, stateFile());
}

export function dropState(owner: ProcessIdentity): void {
  const state = readState();
  if (state === null || state.owner.pid === owner.pid) rmSync(stateFile(), { force: true });
}
