/** A file to read from at any place. Invariant: only a regular file is read, and it is closed again whatever becomes of it. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ByteSource } from './lines';

export async function openFile<T>(file: string, use: (source: ByteSource) => Promise<T>): Promise<T> {
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
    return await use({ read });
  } finally {
    await handle.close();
  }
}
