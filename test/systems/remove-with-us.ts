/**
 * Ties a folder to the life of this process. Invariant: the folder is removed also when this process is killed, unless it was
 * said to be removed before.
 */
import { spawn } from 'node:child_process';

/** A second try each second, five times: the servers that write there end at the same moment. */
const SCRIPT = 'read -r ended || for again in 1 2 3 4 5; do sleep 1; rm -rf "$1" && exit; done';

export function removeWithUs(folder: string): { removed(): void } {
  const guard = spawn('/bin/sh', ['-c', SCRIPT, 'guard', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.stdin.on('error', () => undefined);
  guard.on('error', () => undefined);
  guard.unref();
  return { removed: () => void guard.stdin.end('ended\n') };
}
