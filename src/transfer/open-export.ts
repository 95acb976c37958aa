/** An exported run in a file. Invariant: only a regular file is read, and it is closed again whatever becomes of it. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { readExport, type ExportedRun } from './read-export';

/** Reads the whole file once, then gives `use` what it holds. */
export async function openExport<T>(file: string, use: (exported: ExportedRun) => Promise<T>): Promise<T> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!(await handle.stat()).isFile()) throw Object.assign(new Error('not a regular file'), { code: 'EINVAL' });
    const read = async (offset: number, length: number): Promise<Uint8Array> => {
      const bytes = new Uint8Array(length);
      let held = 0;
      for (let count = -1; count !== 0 && held < length; held += count) {
        count = (await handle.read(bytes, held, length - held, offset + held)).bytesRead;
      }
      return bytes.subarray(0, held);
    };
    return await use(await readExport({ read }));
  } finally {
    await handle.close();
  }
}
