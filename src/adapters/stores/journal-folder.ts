/**
 * What must be true of a journal's folder before anything in it is looked at.
 *
 * Invariant: the same folder is refused with the same code as by the library that shares it. That one locks a file;
 * nothing here locks, but a lock file that it would refuse is refused here too, so no folder works for one side only.
 */
import { accessSync, constants, lstatSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { JOURNAL_LOCK_NAME, RecoveryError, type RecoveryErrorCode } from '../../rules/recovery';
import { makeRoot } from './folders';
import { type FolderSync } from './folder-sync';

/** Makes the folder with its parents, private and durable; leaves one that exists as it is. */
export async function makeJournalFolder(folder: string, syncs: FolderSync): Promise<void> {
  try {
    await makeRoot(folder, syncs);
  } catch (cause) {
    refuseJournal('journal_unavailable', cause);
  }
  // Whoever made a folder found here may have died before this. A parent that may not be opened was made by its owner.
  await syncs.sync(path.dirname(folder)).catch(() => undefined);
}

/** Refuses a folder that is missing or reached through a link, and one whose lock the other side could not take. */
export function checkJournalFolder(folder: string): void {
  const stat = attempt('journal_unavailable', () => lstatSync(folder, { throwIfNoEntry: false }));
  if (stat?.isSymbolicLink() && statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    refuseJournal('unsafe_journal');
  }
  if (!stat?.isDirectory()) refuseJournal('journal_unavailable');
  const lock = path.join(folder, JOURNAL_LOCK_NAME);
  const found: Stats | undefined = attempt('journal_lock_failed', () => lstatSync(lock, { throwIfNoEntry: false }));
  if (found === undefined) {
    attempt('journal_lock_failed', () => accessSync(folder, constants.W_OK | constants.X_OK)); // it would be made here
    return;
  }
  if (found.isSymbolicLink() || found.isDirectory() || found.isSocket()) refuseJournal('journal_lock_failed');
  attempt('journal_lock_failed', () => accessSync(lock, constants.R_OK | constants.W_OK));
  if (!found.isFile()) refuseJournal('unsafe_journal_lock');
}

export function refuseJournal(code: RecoveryErrorCode, cause?: unknown): never {
  throw new RecoveryError(code, 'journal', cause === undefined ? undefined : { cause });
}

function attempt<T>(code: RecoveryErrorCode, step: () => T): T {
  try {
    return step();
  } catch (cause) {
    return refuseJournal(code, cause);
  }
}
