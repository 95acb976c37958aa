/**
 * `contents erase`, `contents rotate` and `contents keys`. Invariant: nothing of a content or a key is ever shown, and what
 * cannot be undone says beforehand what goes.
 */
import type { Command } from 'commander';
import { contentKeysFromFile, rotateContentKeys } from '../../adapters/stores';
import { addContentKey, dropContentKey, readKeyRing, useContentKey } from '../../adapters/stores/content-key-file';
import { contentKeyUse } from '../../adapters/stores/data-keys';
import { eraseContents } from '../../erase-contents';
import type { Context, Register } from '../command';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import { namedRun } from '../plan-file';
import {
  contentStore,
  hasContents,
  journalStore,
  OPTIONS,
  rawContentStore,
  withOptions,
  type Settings,
} from '../settings';

export const contentsCommand: Register = (program, act) => {
  const contents = program.command('contents').description('erase what runs were about, and care for its encryption');
  const erase = contents
    .command('erase')
    .description('delete salt, operations and results of one run from the content store; its journal stays')
    .argument('<run>', 'a run id, or the file of its draft or plan')
    .option('--force', 'also of a run that is not over, which then cannot go on');
  withOptions(erase, 'journal', 'contents').action(act('contents erase', erased));
  const rotate = contents
    .command('rotate')
    .description('put every data key of the store under the current key of the ring; entries stay as they are');
  withOptions(rotate, 'journal', 'contents').action(act('contents rotate', rotated));
  const keys = contents.command('keys').description('the key ring: the master keys of an encrypted content store');
  for (const [name, says, change] of CHANGES) {
    const command = keys.command(name).description(says).argument('<id>', 'its id, as in k2');
    if (name === 'new') command.option('--current', 'use it for new contents from now on');
    if (name === 'drop') command.option('--shred', 'also when contents are lost with it');
    withRing(command, name === 'drop').action(act(`contents keys ${name}`, change));
  }
  withRing(keys.command('list').description('list its keys, and what rests on each'), true).action(
    act('contents keys list', listKeys),
  );
};

interface RingOptions extends Pick<Settings, 'journal' | 'contents' | 'contentKeys'> {
  readonly current?: boolean;
  readonly shred?: boolean;
}

type Change = (context: Context, id: string, options: RingOptions) => Promise<Answer>;

const CHANGES: readonly (readonly [name: string, says: string, change: Change])[] = [
  ['new', 'make a key in the ring’s file, which is made if it is not there', makeKey],
  ['use', 'let a key of the ring be the current one', makeCurrent],
  ['drop', 'remove a key from the ring for ever; refused while contents need it', dropKey],
];

function withRing(command: Command, withStore: boolean): Command {
  return withStore ? withOptions(command, 'journal', 'contents') : command.addOption(OPTIONS.contentKeys());
}

async function erased(
  _context: Context,
  run: string,
  options: Settings & { readonly force?: boolean },
): Promise<Answer> {
  const { runId } = namedRun(run);
  const { force = false } = options;
  const done = await eraseContents(journalStore(options), contentStore(options), runId, { force });
  const said = `run ${runId}: ${counted(done.paths.length, 'content')} erased; its journal stays, and verifies as before`;
  const forced = 'if it was not over, it cannot go on: its workers park it as content_missing, and send nothing';
  return { data: { ...done, force }, lines: force ? [said, forced] : [said] };
}

async function rotated(_context: Context, options: Settings): Promise<Answer> {
  const store = rawContentStore(options);
  const done = await rotateContentKeys(store, contentKeysFromFile(ringFile(options)));
  const { current, dataKeys, added, removed, locked } = done;
  const lines = [
    `${counted(dataKeys, 'data key')} of the content store: ${added} newly under ${current}, ` +
      `${counted(removed, 'older copy', 'older copies')} removed`,
    ...locked.map(
      ({ dataKey, masters }) => `data key ${dataKey} opens with none of these keys; it needs ${masters.join(' or ')}`,
    ),
  ];
  if (locked.length === 0) return { data: done, lines };
  const message = `${counted(locked.length, 'data key')} could not be put under ${current}; add the keys that they need`;
  return { data: done, lines, failure: { code: 'key_unknown', message, field: null, exit: 'invalid_input' } };
}

async function makeKey(_context: Context, id: string, options: RingOptions): Promise<Answer> {
  const file = ringFile(options);
  const { current } = await addContentKey(file, id, options.current === true);
  const next = 'keep a copy of this file as safe as the contents: without it they are lost';
  return { data: { id, current, file }, lines: [`key ${id} made in ${file}; current is ${current}`, next] };
}

async function makeCurrent(_context: Context, id: string, options: RingOptions): Promise<Answer> {
  const file = ringFile(options);
  await useContentKey(file, id);
  const next = 'once every worker has this ring: "countersign contents rotate"';
  return { data: { id, current: id, file }, lines: [`current key of ${file} is ${id}`, next] };
}

async function dropKey(_context: Context, id: string, options: RingOptions): Promise<Answer> {
  const file = ringFile(options);
  const { shred = false } = options;
  if (!shred && !hasContents(options)) {
    const reason = 'say which content store must not need it: --contents DIR; or --shred, if contents may be lost';
    throw new CliError('invalid_argument', reason, 'contents');
  }
  const only = hasContents(options) ? ((await contentKeyUse(rawContentStore(options))).get(id)?.only ?? 0) : 0;
  if (only > 0 && !shred) {
    const reason = `${counted(only, 'data key')} of this content store ${only === 1 ? 'opens' : 'open'} with ${id} alone`;
    throw new CliError('invalid_argument', `${reason}; rotate first, or --shred to lose what they encrypt`, 'id');
  }
  await dropContentKey(file, id);
  const left = only === 0 ? 'nothing here rests on it' : `what ${counted(only, 'data key')} encrypted is lost`;
  const running = 'workers that run may still hold what it opened, until they are restarted';
  return { data: { id, file, lostDataKeys: only }, lines: [`key ${id} dropped from ${file}: ${left}`, running] };
}

async function listKeys(_context: Context, options: RingOptions): Promise<Answer> {
  const file = ringFile(options);
  const { current, keys } = await readKeyRing(file);
  const use = hasContents(options) ? await contentKeyUse(rawContentStore(options)) : new Map<string, never>();
  const ids = [...new Set([...Object.keys(keys), ...use.keys()])].sort();
  const rows = ids.map((id) => ({
    id,
    current: id === current,
    held: Object.hasOwn(keys, id),
    dataKeys: use.get(id)?.copies ?? 0,
    only: use.get(id)?.only ?? 0,
  }));
  const lines = table(
    rows.map((row) => [
      row.id,
      row.current ? 'current' : row.held ? '' : 'not in the ring',
      hasContents(options) ? `${counted(row.dataKeys, 'data key')}, ${row.only} with it alone` : '',
    ]),
  );
  return { data: { file, keys: rows }, lines };
}

function ringFile({ contentKeys }: Pick<Settings, 'contentKeys'>): string {
  if (contentKeys !== undefined && contentKeys !== '') return contentKeys;
  throw new CliError(
    'invalid_argument',
    'say which key ring: --content-keys FILE, or COUNTERSIGN_CONTENT_KEYS',
    'content_keys',
  );
}
