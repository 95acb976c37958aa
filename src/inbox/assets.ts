/** The script of the pages, as it was built with this package. Invariant: it is read once, and served as it is. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../cli/failure';

export interface Assets {
  readonly script: string;
}

export const SCRIPT_FILE = 'page.js';

export function builtAssets(folder = __dirname): Assets {
  try {
    return { script: readFileSync(path.join(folder, SCRIPT_FILE), 'utf8') };
  } catch {
    throw new CliError(
      'input_unreadable',
      'the script of the inbox is not there; build the package with "npm run build"',
    );
  }
}
