/** Options about anchor logs. Invariant: nothing is believed of a log without a key that was given beside it. */
import { lstatSync, readFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { fileStore } from '../adapters/stores';
import { isFolderAddress, openStore, shownAddress } from '../adapters/stores/open-store';
import { verifierFromText, type VerifierKey } from '../anchor';
import type { Store } from '../ports';
import type { KeyKind } from '../rules/anchors/note-keys';
import type { AnchorCheck, GivenAnchor } from '../verify';
import { CliError } from './failure';

export interface AnchorSettings {
  readonly anchor?: readonly string[];
  readonly anchorKey?: string;
  readonly witness?: readonly string[];
  readonly witnesses?: number;
}

const MOST_FILE_BYTES = 1_000_000;

export function anchorKeyOption(): Option {
  return new Option('--anchor-key <vkey>', 'the log’s verifier key, as in example.com/log+1a2b3c4d+Ac…').env(
    'COUNTERSIGN_ANCHOR_KEY',
  );
}

export function withAnchors(command: Command): Command {
  return command
    .option('--anchor <store...>', 'compare with an anchor log, or with a tree head or a proof that was kept of it')
    .addOption(anchorKeyOption())
    .option('--witness <vkey...>', 'the verifier key of a witness')
    .addOption(
      new Option('--witnesses <count>', 'how many of them must have co-signed; default: all').argParser(wholeNumber),
    );
}

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^[0-9]{1,15}$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('it must be a whole number.');
}

/** Null where no anchor was given. */
export function anchorCheck({ anchor = [], anchorKey, witness = [], witnesses }: AnchorSettings): AnchorCheck | null {
  if (anchor.length === 0) {
    if (witness.length === 0 && witnesses === undefined) return null;
    throw new CliError('invalid_argument', 'witnesses vouch for an anchor: give --anchor, too', 'anchor');
  }
  const keys = witness.map((text) => keyOf(text, 'witness', 'witness'));
  if (new Set(witness).size < keys.length || (witnesses ?? 0) > keys.length) {
    throw new CliError('invalid_argument', 'give as many different --witness keys as are demanded', 'witness');
  }
  return {
    anchors: anchor.map(given),
    key: logKey(anchorKey),
    witnesses: keys,
    ...(witnesses === undefined ? {} : { witnessesNeeded: witnesses }),
  };
}

export function logKey(text: string | undefined): VerifierKey {
  if (text !== undefined) return keyOf(text, 'log', 'anchor_key');
  const reason = 'say whose signature counts: --anchor-key VKEY, or COUNTERSIGN_ANCHOR_KEY';
  throw new CliError('invalid_argument', reason, 'anchor_key');
}

function keyOf(text: string, kind: KeyKind, field: string): VerifierKey {
  const key = verifierFromText(text.trim());
  if (key?.kind === kind) return key;
  const reason = `this is not the verifier key of a ${kind}; "countersign anchor key" prints it when it makes the key`;
  throw new CliError('invalid_argument', reason, field);
}

function given(place: string): GivenAnchor {
  const name = shownAddress(place);
  if (!isFolderAddress(place)) return { name, log: openStore(place) };
  const stat = lstatSync(place, { throwIfNoEntry: false });
  if (stat?.isDirectory() === true) return { name, log: fileStore(place) };
  if (stat?.isFile() === true && stat.size <= MOST_FILE_BYTES) return { name, file: readFileSync(place) };
  throw new CliError('input_unreadable', `${name} is neither a log nor a file of one`, 'anchor');
}

/** A log that is there already. */
export function existingLog(address: string): Store {
  if (!isFolderAddress(address)) return openStore(address);
  if (lstatSync(address, { throwIfNoEntry: false })?.isDirectory() === true) return fileStore(address);
  throw new CliError('invalid_argument', `${address} is not the folder of a log`, 'log');
}
