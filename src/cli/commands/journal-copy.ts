/** `journal copy`: a journal into another store of any kind. Invariant: it verifies on both sides, and never mixes two ways that a run has gone. */
import type { Command } from 'commander';
import { openStore } from '../../adapters/stores';
import { makeStore, shownAddress, storeContains } from '../../adapters/stores/open-store';
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
    .argument('<to>', 'a new or empty store of any kind, or an older copy of that journal')
    .action(act('journal copy', copy));
}

async function copy(_context: Context, from: string, to: string): Promise<Answer> {
  const source = journalStore({ journal: from });
  if (storeContains(from, to)) {
    const reason = `${shownAddress(to)} lies in ${shownAddress(from)} itself; a copy needs a store of its own`;
    throw new CliError('invalid_argument', reason, 'to');
  }
  await source.list(''); // nothing is made for the copy of what is not there
  await makeStore(to);
  const { journalId, runs } = await copyJournal(source, openStore(to));
  const rows = runs.map(({ runId, state, written }) => [runId, PLACED_AS[state], counted(written, 'entry', 'entries')]);
  return { data: { journalId, runs }, lines: [`journal ${journalId}, ${counted(runs.length, 'run')}`, ...table(rows)] };
}
