/**
 * Options that several commands share. Invariant: an option wins over its environment variable, and a folder that is needed
 * but not named is refused; nothing is ever guessed from the current folder.
 */
import { statSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { fileStore, type FileStore } from '../adapters/stores';
import type { ContentStore } from '../ports';
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
  journal: () => new Option('--journal <dir>', 'the journal of the workers').env('COUNTERSIGN_JOURNAL'),
  contents: () =>
    new Option('--contents <dir>', 'their content store; default: the journal’s name with "-contents"').env(
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

export function journalFolder({ journal }: Pick<Settings, 'journal'>): string {
  if (journal !== undefined && journal !== '') return withoutSlash(journal);
  throw new CliError('invalid_argument', 'say which journal: --journal DIR, or COUNTERSIGN_JOURNAL', 'journal');
}

/** Of a journal folder, the folder beside it that holds contents. */
export function contentsBeside(journal: string): string {
  return `${withoutSlash(journal)}-contents`;
}

export function contentsFolder(settings: Pick<Settings, 'journal' | 'contents'>): string {
  if (settings.contents !== undefined && settings.contents !== '') return settings.contents;
  if (settings.journal !== undefined && settings.journal !== '') return contentsBeside(settings.journal);
  throw new CliError('invalid_argument', NO_CONTENTS, 'contents');
}

export const NO_CONTENTS =
  'say where contents are: --contents DIR or COUNTERSIGN_CONTENTS, or a journal that has them beside it';

export function hasContents({ journal, contents }: Pick<Settings, 'journal' | 'contents'>): boolean {
  return (journal ?? '') !== '' || (contents ?? '') !== '';
}

/** Never makes the folder: a mistyped name must not become an empty store. */
export function contentStore(settings: Pick<Settings, 'journal' | 'contents' | 'contentKeys'>): ContentStore {
  return withContentKeys(rawContentStore(settings), settings.contentKeys);
}

/** As it is kept: of an encrypted one, the encrypted entries. */
export function rawContentStore(settings: Pick<Settings, 'journal' | 'contents'>): ContentStore {
  return fileStore(existing(contentsFolder(settings), 'contents', 'the content store'));
}

export function journalStore(settings: Pick<Settings, 'journal'>): FileStore {
  return fileStore(existing(journalFolder(settings), 'journal', 'the journal'));
}

function existing(folder: string, field: string, what: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  const reason = `${what} ${folder} is not there; name the right folder, or make it with "countersign journal init"`;
  throw new CliError('invalid_argument', reason, field);
}

function withoutSlash(folder: string): string {
  return folder.length > 1 ? folder.replace(/\/+$/, '') : folder;
}
