/** Key sets, folders and clocks for tests of where keys come from. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';
import type { Holding } from '../../../src/adapters/reviewers/held-keys';
import { jwksFromBytes, type Jwks } from '../../../src/rules/receipts/jwks';
import { APPROVER, entry } from '../../rules/receipts/support';

/** A JWKS of these reviewers; `-name` is one who was revoked. */
export function setOf(...names: readonly string[]): string {
  const keys = names.map((name) =>
    name.startsWith('-') ? entry(name.slice(1), [APPROVER], { countersign_revoked: true }) : entry(name, [APPROVER]),
  );
  return JSON.stringify({ keys });
}

export function read(...names: readonly string[]): Jwks {
  return jwksFromBytes(setOf(...names));
}

/** Time that passes only when told. */
export function handClock(): { readonly holding: Partial<Holding>; pass(ms: number): void } {
  let now = 1_000;
  return { holding: { clock: () => now }, pass: (ms) => void (now += ms) };
}

const made: string[] = [];
export function workFolder(): string {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'countersign-keys-')));
  made.push(folder);
  return folder;
}
afterEach(() => {
  for (const folder of made.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
});

/** A file of somebody else: given away where we may, else one of the system's own. */
export function foreignFile(folder: string, content: string): string {
  if (process.getuid?.() !== 0) return '/etc/passwd';
  const file = path.join(folder, 'foreign');
  fs.writeFileSync(file, content, { mode: 0o600 });
  fs.chownSync(file, 65_534, 65_534);
  return file;
}
