/**
 * Tells a process from another that was later given its pid. Invariant: two processes of one machine, and one machine before
 * and after a boot, never share an identity; whoever ends a process by a number in a file asks here first.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in the system's own words. */
  readonly started: string;
}

/** Null when there is no such process, or it has ended and only waits to be collected. */
export function identityOf(pid: number): ProcessIdentity | null {
  const started = process.platform === 'linux' ? startedOnLinux(pid) : startedByPs(pid);
  return started === null ? null : { pid, started };
}

export function isStill({ pid, started }: ProcessIdentity): boolean {
  return identityOf(pid)?.started === started;
}

/** The start in clock ticks since the boot; the program's name stands in brackets and may hold anything. */
function startedOnLinux(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return null;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[18]}`;
  } catch {
    return null;
  }
}

function startedByPs(pid: number): string | null {
  try {
    const env = { ...process.env, LC_ALL: 'C' };
    const [state, ...started] = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env,
    })
      .trim()
      .split(/\s+/);
    return state?.startsWith('Z') ? null : started.join(' ');
  } catch {
    return null;
  }
}
