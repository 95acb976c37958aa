/** A folder of its own for every test, removed after it. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';

const made: string[] = [];

export function workFolder(): string {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-stores-')));
  made.push(folder);
  return folder;
}

afterEach(() => {
  for (const folder of made.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
});

/** Every name below a folder with its mode, sorted. */
export function tree(folder: string): string[] {
  const lines: string[] = [];
  for (const item of fs.readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const full = path.join(item.parentPath, item.name);
    lines.push(`${(fs.lstatSync(full).mode & 0o7777).toString(8)} ${path.relative(folder, full)}`);
  }
  return lines.sort();
}
