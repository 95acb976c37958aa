/** Stack traces name the folder that the code stood in: recorded histories must not. */
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { REPOSITORY } from './repository';

export async function withoutMachine(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((entry) => entry.endsWith('.json'))) {
    const file = path.join(folder, name);
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(`${REPOSITORY}/`, ''));
  }
}
