/**
 * What the modules that need files share: rows and their judgement, and the reading of a vectors file.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';

export {
  answerOf,
  compare,
  judge,
  textOf,
  type Answer,
  type FolderRowModule,
  type RowHead,
  type RowResult,
} from './judge';

export function readVectors<File>(folder: string, file: string): File {
  return JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as File;
}
