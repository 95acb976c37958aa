/** Exported runs as the commands meet them. Invariant: told apart from a folder before anything is opened. */
import { statSync } from 'node:fs';
import type { PlacedAs } from '../transfer';
import { CliError } from './failure';

/** What placing a run came to, in words. */
export const PLACED_AS: Record<PlacedAs, string> = {
  placed: 'placed',
  advanced: 'brought up to date',
  same: 'there already, in the same state',
  ahead: 'there already, and further on; left alone',
};

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export function refuseNoFile(path: string): void {
  if (!isFile(path))
    throw new CliError('input_unreadable', `${path} is not a regular file; name one that "export" wrote`);
}
