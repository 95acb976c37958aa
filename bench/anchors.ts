/**
 * An anchor log of many heads: how long it takes to write, to open again and to prove, and what memory it needs. One JSON line.
 *
 *   npm run bench:anchors -- [heads] [lineages] [folder]
 *
 * Writes below the folder (default: a new temporary one, removed at the end). A second run on the same folder only opens and proves.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileStore } from '../src/adapters/stores';
import { LogReader } from '../src/anchor';
import { LogWriter } from '../src/anchor/log-writer';
import { MOST_HEADS_IN_A_BATCH } from '../src/rules/anchors/batch';
import { signerFromSeed } from '../src/rules/anchors/note-keys';

const PROOFS = 500;
const [heads = 1_000_000, lineages = 250_000] = process.argv.slice(2, 4).map(Number);
const given = process.argv[4];
const key = signerFromSeed('log', 'bench.example/log', new Uint8Array(32).fill(7));
const journalId = `jrn_${'0'.repeat(32)}`;

async function main(): Promise<void> {
  const folder = given ?? mkdtempSync(path.join(tmpdir(), 'countersign-anchors-'));
  const log = fileStore(folder, { createRoot: true });
  const options = { log, journalId, key };
  try {
    let writer = await LogWriter.open(options);
    const rss: number[] = [];
    const [begun, before] = [performance.now(), writer.size];
    while (writer.size < heads) {
      const count = Math.min(MOST_HEADS_IN_A_BATCH, heads - writer.size);
      const from = writer.size;
      await writer.append(Array.from({ length: count }, (_, place) => headAt(from + place)));
      if (writer.size % (MOST_HEADS_IN_A_BATCH * 24) === 0) rss.push(megabytes());
    }
    const appendMs = performance.now() - begun;
    const appended = writer.size - before;

    const opening = performance.now();
    writer = await LogWriter.open(options);
    const restartMs = performance.now() - opening;

    const reader = new LogReader(log, key);
    const head = await reader.head();
    const inclusion: number[] = [];
    const consistency: number[] = [];
    for (let proof = 0; proof < PROOFS; proof += 1) {
      const index = randomBelow(head.size);
      const start = performance.now();
      await reader.prove(index, head); // a new reader of tiles each time: nothing is held from the proof before
      inclusion.push(performance.now() - start);
      const again = performance.now();
      await reader.tiles(head.size).consistencyProof(1 + index);
      consistency.push(performance.now() - again);
    }
    const line = {
      heads: head.size,
      lineages: writer.known.lineages,
      appended,
      append_ms: Math.round(appendMs),
      heads_per_second: appended === 0 ? null : Math.round((appended / appendMs) * 1000),
      restart_ms: Math.round(restartMs),
      inclusion_proof_ms: shares(inclusion),
      consistency_proof_ms: shares(consistency),
      rss_mb_while_growing: rss,
      rss_mb: megabytes(),
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  } finally {
    if (given === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** Each lineage in turn, one checkpoint further each time. */
function headAt(index: number): { runId: string; lineage: number; sequence: number; digest: string } {
  const run = index % lineages;
  const runId = `run_${run.toString(16).padStart(32, '0')}`;
  return {
    runId,
    lineage: 1,
    sequence: Math.floor(index / lineages),
    digest: `sha256:${randomBytes(32).toString('hex')}`,
  };
}

function randomBelow(limit: number): number {
  return randomBytes(6).readUIntBE(0, 6) % limit;
}

function megabytes(): number {
  return Math.round(process.memoryUsage().rss / 2 ** 20);
}

function shares(times: readonly number[]): { median: number; p99: number; most: number } {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number => Number((sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(2));
  return { median: at(0.5), p99: at(0.99), most: at(1) };
}

void main();
