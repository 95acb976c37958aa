/** Erases the contents of a run, and kills itself before it would delete the n-th entry. */
import { fileStore } from '../../src/adapters/stores';
import { eraseContents } from '../../src/erase-contents';
import type { ContentStore } from '../../src/ports';

const [journal, contents, runId, kill] = process.argv.slice(2) as [string, string, string, string];
const store = fileStore(contents);
let deletions = 0;
const dying: ContentStore = {
  scope: store.scope,
  create: (...entry) => store.create(...entry),
  read: (path) => store.read(path),
  list: (...folder) => store.list(...folder),
  delete: (path) => {
    deletions += 1;
    if (deletions === Number(kill)) process.kill(process.pid, 'SIGKILL');
    return store.delete(path);
  },
};

void eraseContents(fileStore(journal), dying, runId).then(() =>
  process.send?.({ value: deletions }, () => process.exit()),
);
