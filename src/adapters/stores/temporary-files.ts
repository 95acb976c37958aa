/**
 * Temporary files of a store: names that say who made them, and the sweep that removes what dead processes left.
 *
 * Invariant: a file is removed only when its maker is proven dead (same boot, same process namespace, no such process)
 * or when it comes from another boot or namespace and is a day old. Even a wrong removal would lose nothing: the link
 * of the maker fails, and the create starts again.
 */
import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, opendirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { errnoOf } from './file-fault';
import { removeQuietly } from './publish-file';

const SWEEP_LIMIT = 256;
const FOREIGN_AGE_MS = 24 * 60 * 60 * 1000;
const NAME = /^([0-9a-f]{16})-([0-9]{1,10})-([0-9]{1,20})-[0-9a-f]{24}$/;

let own: { readonly realm: string; readonly started: string } | undefined;

/** A name that no other process makes. */
export function temporaryName(): string {
  own ??= { realm: processRealm(), started: startOf(process.pid) ?? '0' };
  return `${own.realm}-${process.pid}-${own.started}-${randomBytes(12).toString('hex')}`;
}

/** Removes what dead processes left behind; looks at a bounded number of files. */
export function sweepTemporaries(folder: string, nowMs: number): number {
  let removed = 0;
  const entries = opendirSync(folder);
  try {
    for (let seen = 0; seen < SWEEP_LIMIT; seen += 1) {
      const entry = entries.readSync();
      if (entry === null) break;
      const file = path.join(folder, entry.name);
      if (!entry.isFile() || !isAbandoned(file, entry.name, nowMs)) continue;
      removeQuietly(file);
      removed += 1;
    }
  } finally {
    entries.closeSync();
  }
  return removed;
}

function isAbandoned(file: string, name: string, nowMs: number): boolean {
  const parts = NAME.exec(name);
  if (parts === null) return false;
  const [, realm, pid, started] = parts;
  if (realm === processRealm()) return startOf(Number(pid)) !== started;
  const stat = lstatSync(file, { throwIfNoEntry: false });
  return stat !== undefined && nowMs - stat.mtimeMs > FOREIGN_AGE_MS;
}

/** The boot and the process namespace within which a process id means something. */
function processRealm(): string {
  const facts = [attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())];
  facts.push(attempt(() => readlinkSync('/proc/self/ns/pid')));
  return createHash('sha256').update(facts.join('|')).digest('hex').slice(0, 16);
}

/** When a process started, in the system's own ticks; `0` where the system does not say; absent when there is none. */
function startOf(pid: number): string | undefined {
  if (!isRunning(pid)) return undefined;
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The command in parentheses may itself hold spaces and parentheses; field 22 is the 20th after it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '0';
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ESRCH';
  }
}

function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
