/**
 * Options that several commands share. Invariant: an option wins over its environment variable, and a store that is needed but not
 * named is refused; nothing is ever guessed from the current folder. A store is a folder or an address, and no address is printed
 * as it was given: it may hold a password.
 */
import { statSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { openContentStore, openStore } from '../adapters/stores';
import { contentsBeside, isFolderAddress, shownAddress, storeIsThere } from '../adapters/stores/open-store';
import type { ContentStore, Store } from '../ports';
import { checkedStore } from './checked-store';
import { withContentKeys } from './content-keys';
import { CliError } from './failure';

export interface Settings {
  readonly journal?: string;
  readonly contents?: string;
  /** File of the key ring of an encrypted content store. */
  readonly contentKeys?: string;
  readonly taskQueue: string;
}

export const OPTIONS = {
  journal: () =>
    new Option('--journal <store>', 'the journal of the workers: a folder, postgres://… or s3://…').env(
      'COUNTERSIGN_JOURNAL',
    ),
  contents: () =>
    new Option('--contents <store>', 'their content store; default: the one beside the journal').env(
      'COUNTERSIGN_CONTENTS',
    ),
  contentKeys: () =>
    new Option('--content-keys <file>', 'the key ring of an encrypted content store').env('COUNTERSIGN_CONTENT_KEYS'),
  taskQueue: () =>
    new Option('--task-queue <name>', 'task queue of the workers that have the plan’s sinks')
      .env('COUNTERSIGN_TASK_QUEUE')
      .default('countersign'),
} as const;

export function withOptions(command: Command, ...names: readonly (keyof typeof OPTIONS)[]): Command {
  for (const name of names) command.addOption(OPTIONS[name]());
  if (names.includes('contents')) command.addOption(OPTIONS.contentKeys());
  return command;
}

export type ContentsToShow = Pick<Settings, 'contents' | 'contentKeys'>;

/** For a command that can print contents: no variable names the store, so none are printed by accident. */
export function withContentsToShow(command: Command): Command {
  command.option('--contents <store>', 'also show what it would do, from this content store of the workers');
  return command.addOption(OPTIONS.contentKeys());
}

/** Null where none was named. */
export function contentsToShow({ contents, contentKeys }: ContentsToShow): ContentStore | null {
  if (contents === undefined) return null;
  return contentStore({ contents, ...(contentKeys === undefined ? {} : { contentKeys }) });
}

export function journalAddress({ journal }: Pick<Settings, 'journal'>): string {
  if (journal !== undefined && journal !== '') return journal;
  throw new CliError('invalid_argument', 'say which journal: --journal STORE, or COUNTERSIGN_JOURNAL', 'journal');
}

export function contentsAddress(settings: Pick<Settings, 'journal' | 'contents'>): string {
  if (settings.contents !== undefined && settings.contents !== '') return settings.contents;
  if (settings.journal !== undefined && settings.journal !== '') return contentsBeside(settings.journal);
  throw new CliError('invalid_argument', NO_CONTENTS, 'contents');
}

export const NO_CONTENTS =
  'say where contents are: --contents STORE or COUNTERSIGN_CONTENTS, or a journal that has them beside it';

export function hasContents({ journal, contents }: Pick<Settings, 'journal' | 'contents'>): boolean {
  return (journal ?? '') !== '' || (contents ?? '') !== '';
}

/** Never makes the store: a mistyped name must not become an empty one. */
export function contentStore(settings: Pick<Settings, 'journal' | 'contents' | 'contentKeys'>): ContentStore {
  return withContentKeys(rawContentStore(settings), settings.contentKeys);
}

/** As it is kept: of an encrypted one, the encrypted entries. */
export function rawContentStore(settings: Pick<Settings, 'journal' | 'contents'>): ContentStore {
  const address = contentsAddress(settings);
  return existing(openContentStore(address), address, 'contents', 'the content store');
}

export function journalStore(settings: Pick<Settings, 'journal'>): Store {
  const address = journalAddress(settings);
  return existing(openStore(address), address, 'journal', 'the journal');
}

function existing<S extends Store>(store: S, address: string, field: string, what: string): S {
  const reason = `${what} ${shownAddress(address)} is not there; name the right one, or make it with "countersign journal init"`;
  const missing = new CliError('invalid_argument', reason, field);
  if (!isFolderAddress(address)) {
    return checkedStore(store, async () => {
      if (!(await storeIsThere(address))) throw missing;
    });
  }
  // At once: before a server is asked for anything.
  if (statSync(address, { throwIfNoEntry: false })?.isDirectory() !== true) throw missing;
  return store;
}
