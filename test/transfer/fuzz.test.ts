/**
 * Damaged exports, from fixed seeds.
 *
 * Held here, 100,000 times for files as they were damaged, and 100,000 times for files that were sealed again after it:
 * - the reader accepts or answers with a `Refusal`, and nothing else; no message quotes contents;
 * - what was damaged and not sealed again is never accepted;
 * - what is accepted is, written again line by line, the same file: an export has one text;
 * - of what was sealed again, nothing that `verify` and the placing accept differs from the run in more than free fields and spelling.
 */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { closingToLine, entryToLine, headerToLine } from '../../src/rules/export-record';
import { RecoveryError } from '../../src/rules/recovery';
import { Refusal } from '../../src/rules/refusal';
import { importRun, type ExportedRun } from '../../src/transfer';
import { Chance, damaged, type Json } from '../support/damage';
import { WholeStore, exported, opened, sampleRun, type Sample } from './support';

const ROUNDS = 100_000;
const CONTENT = /"id":"[ab]"/;
let sample: Sample;
let good: Buffer;
let lines: readonly string[];
beforeAll(async () => {
  sample = await sampleRun();
  good = await exported(sample.journal, sample.contents, sample.runId);
  lines = good.toString().slice(0, -1).split('\n');
});

async function read(bytes: Uint8Array): Promise<ExportedRun | null> {
  try {
    return await opened(bytes);
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    if (CONTENT.test(fault.message)) throw new Error('a message quotes contents');
    return null;
  }
}

/** A line as a document, damaged; or lines swapped, doubled, left out or taken from elsewhere. */
function damagedLines(chance: Chance): readonly Uint8Array[] {
  const copy: Uint8Array[] = lines.map((line) => Buffer.from(line));
  const at = chance.below(copy.length);
  switch (chance.below(6)) {
    case 0:
      copy.splice(at, 1);
      break;
    case 1:
      copy.splice(chance.below(copy.length), 0, copy[at]!);
      break;
    case 2: {
      const to = chance.below(copy.length);
      [copy[at], copy[to]] = [copy[to]!, copy[at]!];
      break;
    }
    default:
      copy[at] = damaged(chance, JSON.parse(lines[at]!) as Json);
  }
  return copy;
}

function file(parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.concat([part, Buffer.from('\n')])));
}

/** With a closing line that fits what stands before it. */
function sealed(parts: readonly Uint8Array[]): Buffer {
  const body = file(parts.slice(0, -1));
  const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`;
  return Buffer.concat([body, Buffer.from(`${closingToLine({ entries: parts.length - 2, digest })}\n`)]);
}

async function again(run: ExportedRun): Promise<Buffer> {
  const parts = [headerToLine(run)];
  const walk = async (store: 'journal' | 'contents', folder: string): Promise<string[]> => {
    const from = store === 'journal' ? run.journal : run.store;
    const paths: string[] = [];
    for (const name of (await from?.list(folder)) ?? []) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (name.endsWith('/')) paths.push(...(await walk(store, path.slice(0, -1))));
      else paths.push(path);
    }
    return paths.sort();
  };
  for (const store of ['journal', 'contents'] as const) {
    for (const path of await walk(store, '')) {
      const text = Buffer.from((await (store === 'journal' ? run.journal : run.store)!.read(path))!).toString();
      parts.push(entryToLine({ store, path, text }));
    }
  }
  parts.push(closingToLine(run));
  return file(parts.map((part) => Buffer.from(part)));
}

describe('the export reader', () => {
  it('refuses every damaged file', { timeout: 600_000 }, async () => {
    const chance = new Chance(3);
    let harmless = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      let bytes: Buffer;
      if (chance.below(4) === 0) {
        bytes = Buffer.from(good);
        const at = chance.below(bytes.length);
        if (chance.below(2) === 0) bytes = bytes.subarray(0, at);
        else bytes[at] = chance.below(256);
      } else bytes = file(damagedLines(chance));
      if (bytes.equals(good)) harmless += 1;
      else if ((await read(bytes)) !== null) throw new Error(`accepted in round ${round}`);
    }
    expect(harmless).toBeLessThan(ROUNDS / 10);
  });

  it('answers every file that was sealed again', { timeout: 900_000 }, async () => {
    const chance = new Chance(8);
    let [accepted, placed] = [0, 0];
    for (let round = 0; round < ROUNDS; round += 1) {
      const bytes = sealed(damagedLines(chance));
      const run = bytes.equals(good) ? null : await read(bytes);
      if (run === null) continue;
      accepted += 1;
      if (!(await again(run)).equals(bytes)) throw new Error(`two texts in round ${round}`);
      if (accepted % 5 === 0 && (await placing(run))) placed += 1;
    }
    expect(accepted).toBeGreaterThan(1_000);
    expect(placed).toBeGreaterThan(10);
  });

  async function placing(run: ExportedRun): Promise<boolean> {
    const to = new WholeStore();
    try {
      await importRun(run, to, new WholeStore());
    } catch (fault) {
      if (!(fault instanceof Refusal || fault instanceof RecoveryError)) throw fault;
      if (to.entries.size > 0) throw new Error('something was written of what was refused', { cause: fault });
      return false;
    }
    for (const [name, bytes] of to.entries) {
      const same = Buffer.compare(bytes, sample.sample.files.get(name) ?? Buffer.alloc(0)) === 0;
      if (!same)
        expect(name).toMatch(/\/sends\/|\/epochs\/|^journal\.json$|\/witnesses\/|\/(plan|checkpoint-\d+)\.json$/);
    }
    return true;
  }
});
