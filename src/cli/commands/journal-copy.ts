/** `journal copy`: a journal into another folder. Invariant: it verifies on both sides, and never mixes two ways that a run has gone. */
import path from 'node:path';
import type { Command } from 'commander';
import { fileStore } from '../../adapters/stores';
import { copyJournal } from '../../transfer';
import type { Act, Context } from '../command';
import { PLACED_AS } from '../exported-file';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import { journalStore } from '../settings';

export function addCopy(journal: Command, act: Act): void {
  journal
    .command('copy')
    .description('copy a journal, or bring an older copy up to it, verifying on the way')
    .argument('<from>', 'the journal')
    .argument('<to>', 'a new or empty folder, or an older copy of that journal')
    .action(act('journal copy', copy));
}

async function copy(_context: Context, from: string, to: string): Promise<Answer> {
  const source = journalStore({ journal: from });
  if (`${path.resolve(to)}/`.startsWith(`${path.resolve(from)}/`)) {
    throw new CliError('invalid_argument', `${to} lies in ${from} itself; a copy needs a folder of its own`, 'to');
  }
  const { journalId, runs } = await copyJournal(source, fileStore(to, { createRoot: true }));
  const rows = runs.map(({ runId, state, written }) => [runId, PLACED_AS[state], counted(written, 'entry', 'entries')]);
  return { data: { journalId, runs }, lines: [`journal ${journalId}, ${counted(runs.length, 'run')}`, ...table(rows)] };
}
