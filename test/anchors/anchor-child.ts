/** Anchors a journal once, and ends itself by SIGKILL at the named step of the first batch that it carries out. */
import { fileStore } from '../../src/adapters/stores';
import { anchorJournal, publisherIn } from '../../src/anchor';
import { LOG_KEY } from './scene';

const [journal = '', log = '', step = ''] = process.argv.slice(2);
let batches = 0;

void anchorJournal({
  journal: fileStore(journal),
  log: fileStore(log, { createRoot: true }),
  key: LOG_KEY,
  once: true,
  publish: publisherIn(log),
  onStep: async (reached) => {
    if (reached === 'batch' || reached === 'tiles') batches += 1;
    if (reached !== step || batches === 0) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => undefined);
  },
});
