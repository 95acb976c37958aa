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
import { LogReader, type SignedHead } from '../src/anchor/log-reader';
import { LogWriter } from '../src/anchor/log-writer';
import { MOST_HEADS_IN_A_BATCH } from '../src/rules/anchors/batch';
import { signerFromSeed } from '../src/rules/anchors/note-keys';
import { askedFor } from './arguments';

const PROOFS = 500;
const {
  counts: { heads, lineages },
  text: given,
} = askedFor({ counts: { heads: 1_000_000, lineages: 250_000 }, text: 'folder' });
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
    const cold = await timesOf(head, () => new LogReader(log, key)); // nothing is held from the proof before
    const held = await timesOf(head, () => reader);
    const line = {
      heads: head.size,
      lineages: writer.known.lineages,
      appended,
      append_ms: Math.round(appendMs),
      heads_per_second: appended === 0 ? null : Math.round((appended / appendMs) * 1000),
      restart_ms: Math.round(restartMs),
      inclusion_proof_ms: shares(held.inclusion),
      consistency_proof_ms: shares(held.consistency),
      first_inclusion_proof_ms: shares(cold.inclusion),
      first_consistency_proof_ms: shares(cold.consistency),
      rss_mb_while_growing: rss,
      rss_mb: megabytes(),
    };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  } finally {
    if (given === null) rmSync(folder, { recursive: true, force: true });
  }
}

interface Times {
  readonly inclusion: readonly number[];
  readonly consistency: readonly number[];
}

/** Of proofs about entries, and older trees, anywhere in the log. An inclusion proof is checked before it is answered. */
async function timesOf(head: SignedHead, reader: () => LogReader): Promise<Times> {
  const times = { inclusion: [] as number[], consistency: [] as number[] };
  for (let proof = 0; proof < PROOFS; proof += 1) {
    const index = randomBelow(head.size);
    const [one, other] = [reader(), reader()];
    const start = performance.now();
    await one.prove(index, head);
    times.inclusion.push(performance.now() - start);
    const again = performance.now();
    await other.tiles(head.size).consistencyProof(1 + index);
    times.consistency.push(performance.now() - again);
  }
  return times;
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
