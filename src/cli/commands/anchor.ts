/**
 * `anchor` (run, key, checkpoint, proof, witness). Invariant: of a journal it only reads; a secret is read from a file and never
 * printed.
 */
import { writeFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { fileStore, openStore } from '../../adapters/stores';
import { isFolderAddress, makeStore, shownAddress } from '../../adapters/stores/open-store';
import {
  AnchorError,
  LogReader,
  anchorJournal,
  makeSignerFile,
  publisherIn,
  readSignerFile,
  verifierToText,
  witnessLog,
  type AnchorProgress,
} from '../../anchor';
import { lineageHeadFromBytes } from '../../rules/anchors/lineage-head';
import { isKeyName } from '../../rules/anchors/note-keys';
import { noteToText } from '../../rules/anchors/note';
import { TILE_WIDTH } from '../../rules/anchors/tiles';
import type { TreeHead } from '../../rules/anchors/tree-head';
import { writeMetrics } from '../anchor-metrics';
import { anchorKeyOption, existingLog, logKey, wholeNumber } from '../anchor-options';
import type { Context, Register } from '../command';
import { CliError } from '../failure';
import { counted, type Answer } from '../output';
import { journalStore, withOptions, type Settings } from '../settings';

export const anchorCommand: Register = (program, act) => {
  const anchor = program.command('anchor').description('a log, kept elsewhere, that proves what a journal once held');
  const run = anchor
    .command('run', { isDefault: true })
    .description('follow a journal and append new heads of its lineages to its log')
    .requiredOption('--log <store>', 'where the log is kept; not where writers of the journal can reach it')
    .requiredOption('--key <file>', 'the log’s key, as "anchor key" makes it')
    .option('--once', 'look once and end')
    .addOption(new Option('--interval <seconds>', 'between two looks').argParser(seconds).default(1))
    .option('--metrics <file>', 'keep lag and size in this file, in the text format of Prometheus');
  withOptions(run, 'journal').action(act('anchor', runAnchor));
  anchor
    .command('key')
    .description('make the key of a log, or of a witness, in a file that only you can read')
    .argument('<name>', 'what it signs as: of a log, its own name, as in example.com/journal')
    .requiredOption('--out <file>', 'a new file')
    .option('--witness', 'the key of a witness')
    .action(act('anchor key', makeKey));
  withLog(anchor.command('checkpoint').description('print the newest signed tree head, to be kept elsewhere'))
    .option('--out <file>', 'write it into a new file instead')
    .action(act('anchor checkpoint', checkpoint));
  withLog(anchor.command('proof').description('print a proof that a head of a run is in the log'))
    .requiredOption('--run <run>', 'the run')
    .addOption(new Option('--lineage <number>', 'default: its last one there').argParser(wholeNumber))
    .option('--out <file>', 'write it into a new file instead')
    .action(act('anchor proof', proof));
  withLog(anchor.command('witness').description('co-sign the newest tree head, if it continues what was seen before'))
    .requiredOption('--key <file>', 'the witness’s key')
    .requiredOption('--memory <dir>', 'what this witness has seen; its own, and never lost')
    .action(act('anchor witness', witness));
};

interface LogSettings {
  readonly log: string;
  readonly anchorKey?: string;
}

function withLog(command: Command): Command {
  return command.requiredOption('--log <store>', 'the log').addOption(anchorKeyOption());
}

function seconds(text: string): number {
  const value = Number(text);
  if (/^[0-9]{1,6}(\.[0-9]{1,3})?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('it must be a number of seconds.');
}

interface RunOptions extends Settings {
  readonly log: string;
  readonly key: string;
  readonly once?: boolean;
  readonly interval: number;
  readonly metrics?: string;
}

async function runAnchor({ output, interrupted }: Context, options: RunOptions): Promise<Answer> {
  const { log, once = false, interval, metrics } = options;
  const key = await readSignerFile(options.key, 'log');
  const journal = journalStore(options);
  const inFolder = isFolderAddress(log);
  if (inFolder) await makeStore(log);
  let told = '';
  const onProgress = (progress: AnchorProgress): void => {
    if (metrics !== undefined) writeMetrics(metrics, progress);
    const line = progressLine(progress);
    if (line !== told && !once) output.say(line);
    told = line;
  };
  const anchored = await anchorJournal({
    journal,
    log: inFolder ? fileStore(log) : openStore(log),
    key,
    once,
    intervalMs: interval * 1000,
    signal: interrupted,
    onProgress,
    ...(inFolder ? { publish: publisherIn(log) } : {}),
  });
  const unfit =
    anchored.unfit === 0 ? [] : [`${counted(anchored.unfit, 'head')} could not be anchored: verify tells why`];
  const { appended } = anchored;
  const line = `${counted(appended, 'head')} appended; ${headLine(anchored.head)}`;
  return { data: { ...shown(anchored.head), appended, unfit: anchored.unfit }, lines: [line, ...unfit] };
}

function progressLine({ size, appended, unfit, fault }: AnchorProgress): string {
  const late = fault === null ? '' : `, late because of ${fault}`;
  return `${counted(size ?? 0, 'entry', 'entries')}, ${appended} appended, ${unfit} unfit${late}`;
}

interface NewKey {
  readonly out: string;
  readonly witness?: boolean;
}

async function makeKey(_context: Context, name: string, { out, witness: ofWitness }: NewKey): Promise<Answer> {
  if (!isKeyName(name)) {
    const reason = 'a name is printing ASCII without space and plus sign, as in example.com/journal';
    throw new CliError('invalid_argument', reason, 'name');
  }
  const kind = ofWitness === true ? 'witness' : 'log';
  const verifier = verifierToText(makeSignerFile(out, kind, name));
  return { data: { kind, name, verifier }, lines: [verifier] };
}

async function checkpoint(_context: Context, options: LogSettings & { readonly out?: string }): Promise<Answer> {
  const head = await new LogReader(existingLog(options.log), logKey(options.anchorKey)).head();
  return written(noteToText(head.note), options.out, shown(head), headLine(head));
}

interface ProofOptions extends LogSettings {
  readonly run: string;
  readonly lineage?: number;
  readonly out?: string;
}

async function proof(_context: Context, { log, anchorKey, run, lineage, out }: ProofOptions): Promise<Answer> {
  const reader = new LogReader(existingLog(log), logKey(anchorKey));
  const head = await reader.head();
  const tiles = reader.tiles(head.size);
  for (let bundle = Math.ceil(head.size / TILE_WIDTH) - 1; bundle >= 0; bundle -= 1) {
    const entries = await tiles.entries(bundle);
    const place = entries.findLastIndex((entry) => isOf(entry, run, lineage));
    if (place < 0) continue;
    const index = bundle * TILE_WIDTH + place;
    const text = await reader.prove(index, head);
    return written(text, out, { ...shown(head), index }, `entry ${index} of ${headLine(head)}`);
  }
  throw new AnchorError('anchor_head_unknown', 'no head of this run is in the log; it may not be anchored yet');
}

/** Most entries are of other runs: only one that names this run is read. */
function isOf(entry: Uint8Array, run: string, lineage: number | undefined): boolean {
  if (!Buffer.from(entry.buffer, entry.byteOffset, entry.length).includes(run)) return false;
  const head = lineageHeadFromBytes(entry);
  return head.runId === run && (lineage === undefined || head.lineage === lineage);
}

interface WitnessSettings extends LogSettings {
  readonly key: string;
  readonly memory: string;
}

async function witness(_context: Context, options: WitnessSettings): Promise<Answer> {
  const seen = await witnessLog({
    log: existingLog(options.log),
    logKey: logKey(options.anchorKey),
    key: await readSignerFile(options.key, 'witness'),
    memory: fileStore(options.memory, { createRoot: true }),
    now: () => Math.floor(Date.now() / 1000),
  });
  const before = seen.before === null ? 'the first that this witness has seen' : `it continues that of ${seen.before}`;
  return {
    data: { ...shown(seen.head), before: seen.before, line: seen.line },
    lines: [`${headLine(seen.head)}: ${before}`],
  };
}

function written(text: string, out: string | undefined, data: object, line: string): Answer {
  if (out === undefined) return { data: { ...data, text }, lines: [text.replace(/\n$/, '')] };
  try {
    writeFileSync(out, text, { flag: 'wx' });
  } catch {
    throw new CliError(
      'output_exists',
      `${shownAddress(out)} cannot be written as a new file; choose another name`,
      'out',
    );
  }
  return { data: { ...data, out }, lines: [`${line}, written to ${out}`] };
}

function shown({ origin, size, root }: TreeHead): { origin: string; size: number; root: string } {
  return { origin, size, root: `sha256:${Buffer.from(root).toString('hex')}` };
}

function headLine({ origin, size }: TreeHead): string {
  return `tree of ${counted(size, 'entry', 'entries')} of ${origin}`;
}
