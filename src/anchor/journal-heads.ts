/**
 * The heads of a journal's lineages that are not anchored yet. Invariant: it only lists and reads, so it is never in the way of a
 * driver; a head is handed out only if its own digest holds, and heads of one lineage in ascending order.
 */
import type { Store } from '../ports';
import type { AnchoredHead } from '../rules/anchors/batch';
import { journalIdFromBytes } from '../rules/journal-record';
import {
  RETIRED_FILE_NAME,
  RecoveryCheckpoint,
  RecoveryError,
  RetiredJournalRecord,
  checkpointFileName,
  isRunId,
} from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import type { KnownHeads } from './known-heads';

const LINEAGE_FOLDER = /^lineage-([0-9]{4,})\/$/;
const CHECKPOINT_FILE = /^checkpoint-([0-9]{20})\.json$/;
/** A completed run never grows; that it did nevertheless is noticed by looking everywhere at times. */
const PASSES_UNTIL_ALL = 20;

export interface Seen {
  /** Heads whose file is not a checkpoint, or that stand before one that is anchored: `verify` tells what is wrong. */
  readonly unfit: number;
}

export async function journalIdOf(journal: Store): Promise<string> {
  const bytes = await journal.read('journal.json');
  if (bytes !== null) return journalIdFromBytes(bytes);
  throw new Refusal('journal_missing', 'this store holds no journal; make one with "countersign journal init"');
}

export class JournalHeads {
  #passes = 0;
  readonly #completed = new Set<string>();

  constructor(
    private readonly journal: Store,
    private readonly known: KnownHeads,
  ) {}

  /** One pass over the journal. `found` is awaited, so that a slow log holds up the reading, and no more. */
  async look(found: (head: AnchoredHead) => Promise<void>, signal?: AbortSignal): Promise<Seen> {
    let unfit = 0;
    if (this.#passes++ % PASSES_UNTIL_ALL === 0) this.#completed.clear();
    for (const name of await this.journal.list('')) {
      const runId = name.slice(0, -1);
      if (!name.endsWith('/') || !isRunId(runId) || this.#completed.has(runId)) continue;
      if (signal?.aborted === true) break;
      let completed = false;
      for (const folder of await this.journal.list(runId)) {
        const lineage = Number(LINEAGE_FOLDER.exec(folder)?.[1] ?? 0);
        if (lineage === 0) continue;
        const head = await this.#head(`${runId}/${folder.slice(0, -1)}`, this.known.sequenceOf(runId, lineage));
        if (head === 'unfit') unfit += 1;
        completed = head === 'unchanged' ? completed : head !== 'unfit' && head.completed;
        if (typeof head === 'object' && head.sequence > this.known.sequenceOf(runId, lineage)) {
          await found({ runId, lineage, sequence: head.sequence, digest: head.digest });
        }
      }
      if (completed) this.#completed.add(runId);
    }
    return { unfit };
  }

  async #head(folder: string, anchored: number): Promise<FoundHead | 'unchanged' | 'unfit'> {
    const names = await this.journal.list(folder);
    if (names.includes(RETIRED_FILE_NAME)) return this.#retired(folder, anchored);
    const last = names.filter((name) => CHECKPOINT_FILE.test(name)).at(-1);
    if (last === undefined) return anchored < 0 ? 'unchanged' : 'unfit';
    const sequence = Number(CHECKPOINT_FILE.exec(last)?.[1]);
    if (sequence <= anchored) return sequence === anchored ? 'unchanged' : 'unfit';
    const bytes = await this.journal.read(`${folder}/${checkpointFileName(BigInt(sequence))}`);
    // Gone since it was listed: the lineage is being retired, and the next pass finds the record.
    if (bytes === null) return 'unchanged';
    const head = readable(() => RecoveryCheckpoint.fromJson(bytes));
    if (head === null || Number(head.sequence) !== sequence) return 'unfit';
    return { sequence, digest: head.checkpointDigest, completed: head.phase === 'completed' };
  }

  async #retired(folder: string, anchored: number): Promise<FoundHead | 'unfit'> {
    const bytes = await this.journal.read(`${folder}/${RETIRED_FILE_NAME}`);
    const record = bytes === null ? null : readable(() => RetiredJournalRecord.fromJson(bytes));
    if (record === null) return 'unfit';
    const sequence = Number(record.checkpointCount) - 1;
    if (sequence < anchored) return 'unfit';
    return { sequence, digest: record.finalCheckpointDigest, completed: true };
  }
}

interface FoundHead {
  readonly sequence: number;
  readonly digest: string;
  readonly completed: boolean;
}

function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (fault) {
    if (fault instanceof RecoveryError) return null;
    throw fault;
  }
}
