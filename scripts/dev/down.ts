/**
 * `down`: ends the environment that `up` started, in order, by force after a while. Invariant: it signals one process only, the
 * one that the state file names and that still is that process; its parts end with it.
 */
import { dropState, readState } from './environment-state';
import { isStill } from './process-identity';

const PATIENCE_MS = 40_000;

async function main(): Promise<number> {
  const state = readState();
  if (state === null) {
    console.log('Nothing is up.');
    return 0;
  }
  const { owner } = state;
  process.kill(owner.pid, 'SIGTERM');
  if (await hasEnded(PATIENCE_MS, owner)) {
    console.log('Down.');
    return 0;
  }
  process.kill(owner.pid, 'SIGKILL');
  const ended = await hasEnded(5_000, owner);
  if (ended) dropState(owner);
  console.log(ended ? 'Down, by force.' : `Process ${owner.pid} does not end.`);
  return ended ? 0 : 1;
}

async function hasEnded(withinMs: number, owner: Parameters<typeof isStill>[0]): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (isStill(owner)) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return true;
}

void main().then((code) => (process.exitCode = code));
