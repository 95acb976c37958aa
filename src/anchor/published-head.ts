/**
 * The mutable file `checkpoint` of a log in a folder, where readers of C2SP tlog-tiles look. Invariant: it holds a whole note that
 * was signed, at any moment; it may be older than the newest, so nothing of ours reads it.
 */
import { randomBytes } from 'node:crypto';
import { open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';

export function publisherIn(folder: string): (note: string) => Promise<void> {
  return async (note) => {
    const temporary = path.join(folder, `.checkpoint-${randomBytes(8).toString('hex')}`);
    const handle = await open(temporary, 'wx', 0o644);
    try {
      await handle.writeFile(note);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path.join(folder, 'checkpoint')).catch(async (fault: unknown) => {
      await unlink(temporary).catch(() => undefined);
      throw fault;
    });
  };
}
