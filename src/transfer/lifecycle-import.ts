/**
 * Placing exported histories of verification runs. Invariant: all of the file is judged, and held against the target, before anything is
 * placed; a run becomes visible with its first record, which is placed last, so no half of a history can be carried on.
 */
import { Journal } from '../activities/journal';
import type { Store } from '../ports';
import { journalToText } from '../rules/journal-record';
import type { Jwks } from '../rules/receipts/jwks';
import { Refusal } from '../rules/refusal';
import { affirmationDigest } from '../rules/verification/affirmation';
import { captureToText, type CaptureRecord } from '../rules/verification/capture-record';
import { lifecycleDigest, lifecycleFromBytes, type LifecycleRecord } from '../rules/verification/lifecycle-record';
import { LifecycleReader, MAX_LIFECYCLE_LINE_BYTES } from '../rules/verification/lifecycle-stream';
import { runDigest } from '../rules/verification/run';
import { snapshotDigest } from '../rules/verification/snapshot';
import { linesOf, type ByteSource } from './lines';
import { openFile } from './open-file';
import { acceptsJournal } from './place-run';

export interface ImportLifecycleOptions {
  /** Keys of which receipts must be. @default any key, as long as it made the signature */
  readonly keys?: Jwks;
}

export interface ImportedLifecycle {
  readonly journalId: string;
  readonly runs: number;
  readonly records: number;
  /** Records that were not there before. */
  readonly placed: number;
}

export function importLifecycle(
  store: Store,
  file: string,
  options: ImportLifecycleOptions = {},
): Promise<ImportedLifecycle> {
  return openFile(file, (source) => placeLifecycle(store, source, options));
}

/** Throws a `Refusal` that names the line; then nothing was written. */
export async function placeLifecycle(
  store: Store,
  source: ByteSource,
  options: ImportLifecycleOptions = {},
): Promise<ImportedLifecycle> {
  const target = new Journal(store);
  const { summary, ends } = await judge(target, source, options);
  const { journalId, runs, counts } = summary;
  const isNew = await acceptsJournal(store, journalId);
  const placed = await place(target, source, ends);
  if (isNew)
    await store.create('journal.json', new TextEncoder().encode(journalToText(journalId.slice('jrn_'.length))));
  return { journalId, runs, records: Object.values(counts).reduce((sum, count) => sum + count, 0), placed };
}

interface Judged {
  readonly summary: ReturnType<LifecycleReader['finish']>;
  /** Digest of the last record of each run: the chain makes it stand for all of them. */
  readonly ends: ReadonlyMap<string, string>;
}

/** Reads all of it, and writes nothing. */
async function judge(target: Journal, source: ByteSource, options: ImportLifecycleOptions): Promise<Judged> {
  const reader = new LifecycleReader(options);
  const ends = new Map<string, string>();
  const used = new Map<string, string>();
  for await (const { bytes } of linesOf(source, MAX_LIFECYCLE_LINE_BYTES + 1)) {
    const record = reader.take(bytes.subarray(0, -1));
    if (record === null) continue;
    ends.set(record.runId, lifecycleDigest(record));
    await target.run(record.runId).refuseOther(record);
    for (const capture of capturesOf(record)) {
      refuseSecondUse(used, capture);
      await target.captures.refuseOther(capture);
    }
  }
  return { summary: reader.finish(), ends };
}

function refuseSecondUse(used: Map<string, string>, capture: CaptureRecord): void {
  const text = captureToText(capture);
  if ((used.get(capture.captureId) ?? text) !== text) {
    throw new Refusal('record_conflict', 'was used for two things', 'record.body.snapshot.capture_id');
  }
  used.set(capture.captureId, text);
}

async function place(target: Journal, source: ByteSource, ends: ReadonlyMap<string, string>): Promise<number> {
  let placed = 0;
  let run: LifecycleRecord[] = [];
  for await (const { bytes } of linesOf(source, MAX_LIFECYCLE_LINE_BYTES + 1)) {
    const line = bytes.subarray(0, -1);
    if (!isRecord(line)) continue;
    const record = lifecycleFromBytes(line);
    if (record.sequence === 1) run = [];
    else refuseBroken(run.at(-1), record);
    run.push(record);
    if (ends.get(record.runId) !== lifecycleDigest(record)) continue;
    placed += await placeRun(target, run);
    run = [];
  }
  return placed;
}

/** What is placed is what was judged: each record names the one before, and the last one is known. */
function refuseBroken(last: LifecycleRecord | undefined, record: LifecycleRecord): void {
  if (last !== undefined && record.previous === lifecycleDigest(last)) return;
  throw new Refusal('invalid_record', 'is not what was read before; the file was changed meanwhile', 'export');
}

async function placeRun(target: Journal, records: readonly LifecycleRecord[]): Promise<number> {
  for (const record of records) for (const capture of capturesOf(record)) await target.captures.settle(capture);
  const first = records[0];
  if (first === undefined) return 0;
  return target.run(first.runId).placeAll(records);
}

/** Header and closing line have other fields. */
function isRecord(line: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(line.subarray(0, 8)) === '{"body":';
}

function capturesOf({ event }: LifecycleRecord): readonly CaptureRecord[] {
  if (event.type === 'run_opened') {
    const { snapshot, kind } = event.run;
    const bound = kind === 'recheck' ? runDigest(event.run) : null;
    return [{ captureId: snapshot.captureId, snapshot: snapshotDigest(snapshot), bound }];
  }
  if (event.type !== 'target_affirmed') return [];
  const { affirmation } = event;
  const { snapshot } = affirmation;
  return [{ captureId: snapshot.captureId, snapshot: snapshotDigest(snapshot), bound: affirmationDigest(affirmation) }];
}
