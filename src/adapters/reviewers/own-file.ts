/**
 * Reads a file that only its owner may read. Invariant: what is checked is what is read: one descriptor, never a name twice;
 * a link, a pipe, a foreign owner, any permission of others or too many bytes is refused before a byte is used.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { CustodyError } from './custody-error';

const GROUP_AND_OTHERS = 0o077;

export async function readOwnFile(file: string, mostBytes: number): Promise<Uint8Array> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await open(file, flags).catch((fault: NodeJS.ErrnoException) => {
    const why = fault.code === 'ELOOP' ? 'is a link; name the file itself' : 'cannot be opened; check the name';
    throw new CustodyError('input_unreadable', `${file} ${why}`);
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new CustodyError('input_unreadable', `${file} is not a regular file`);
    // Where the system knows no users, it knows no permissions either.
    const user = process.getuid?.();
    if (user !== undefined && (stat.uid !== user || (stat.mode & GROUP_AND_OTHERS) !== 0)) {
      throw new CustodyError(
        'input_unprotected',
        `${file} must be yours, with permissions for nobody else (chmod 600)`,
      );
    }
    // One byte more than may be there: a file that grows meanwhile is not read to its end.
    const buffer = new Uint8Array(mostBytes + 1);
    let filled = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled);
      filled += bytesRead;
      if (bytesRead === 0 || filled === buffer.length) break;
    }
    if (filled > mostBytes) throw new CustodyError('input_limit', `${file} is larger than ${mostBytes} bytes`);
    return buffer.slice(0, filled);
  } finally {
    await handle.close();
  }
}
