/** One new file, line by line. Invariant: it is private, and it is there only when all of it is. */
import { open, rm } from 'node:fs/promises';

/** Answers the bytes that were written. Throws `EEXIST` when the file is there. */
export async function writeLines(file: string, lines: AsyncIterable<string>): Promise<number> {
  const handle = await open(file, 'wx', 0o600);
  try {
    let bytes = 0;
    for await (const line of lines) {
      const text = Buffer.from(`${line}\n`);
      bytes += text.length;
      await handle.appendFile(text);
    }
    await handle.sync();
    return bytes;
  } catch (fault) {
    await rm(file, { force: true });
    throw fault;
  } finally {
    await handle.close();
  }
}
