/**
 * `verify-run export` and `import`: the histories of verification runs in one file. Invariant: only what is sanitized leaves, never what was
 * looked at or submitted; an import reads all of the file before it places anything, and launches nothing, ever.
 */
import type { Command } from 'commander';
import { reviewersFromFile } from '../../adapters/reviewers';
import { openStore } from '../../adapters/stores';
import { makeStore } from '../../adapters/stores/open-store';
import { exportLifecycle, importLifecycle } from '../../transfer';
import type { Act, Context } from '../command';
import { refuseNoFile } from '../exported-file';
import { CliError } from '../failure';
import { counted, type Answer } from '../output';
import { journalAddress, journalStore, withOptions, type Settings } from '../settings';

interface ImportOptions extends Pick<Settings, 'journal'> {
  readonly reviewers?: string;
}

export function addHistories(family: Command, act: Act): void {
  const out = family
    .command('export')
    .description('write the histories of all runs that have ended into one new file, without any contents')
    .requiredOption('-o, --out <file>', 'a new file');
  withOptions(out, 'journal').action(act('verify-run export', exportRuns));
  const from = family
    .command('import')
    .description('place exported histories into the journal that they come from, or a new one; all of them or none')
    .argument('<file>', 'a file that "verify-run export" wrote')
    .option('--reviewers <file>', 'a JWKS: receipts must be signed by these keys, besides the keys beside them');
  withOptions(from, 'journal').action(act('verify-run import', importRuns));
}

async function exportRuns(
  _context: Context,
  { out, ...options }: Settings & { readonly out: string },
): Promise<Answer> {
  const written = await exportLifecycle(journalStore(options), out).catch((fault: unknown) => {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new CliError('output_exists', `${out} is there already; choose another name`, 'out');
    if (code !== 'ENOENT' && code !== 'EACCES') throw fault;
    throw new CliError('invalid_argument', `${out} cannot be made; name a file in a folder that you can write`, 'out');
  });
  const { digest, open, records, runs } = written;
  const lines = [`${counted(runs, 'run')}, ${counted(records, 'record')} in ${out}`, digest];
  if (open.length > 0) lines.push(`left out, as they have not ended: ${open.join(', ')}`);
  return { data: { ...written, out }, lines };
}

async function importRuns(_context: Context, file: string, options: ImportOptions): Promise<Answer> {
  refuseNoFile(file);
  const keys = options.reviewers === undefined ? {} : { keys: await reviewersFromFile(options.reviewers).load() };
  const address = journalAddress(options);
  await makeStore(address);
  const placed = await importLifecycle(openStore(address), file, keys);
  const what = `${counted(placed.runs, 'run')}, ${counted(placed.records, 'record')} of journal ${placed.journalId}`;
  const lines = [`${what}: ${placed.placed} placed, ${placed.records - placed.placed} there already`];
  return { data: placed, lines };
}
