/**
 * One lineage folder, streamed. Invariant: at most two checkpoints are held at a time, and the folder is accepted or
 * refused with exactly the answer of the recovery contract.
 */
import {
  RETIRED_FILE_NAME,
  RecoveryError,
  TEMPORARY_PREFIX,
  checkpointFileName,
  isCanonicalCheckpoint,
  openCheckpointFolder,
  type CheckpointFolderView,
  type RecoveryCheckpoint,
  type RecoveryPhase,
  type RetiredJournalRecord,
} from '../rules/recovery';
import { divergenceOf } from './difference';
import type { Divergence, Findings } from './findings';
import { joined, type JournalView, throwOutage } from './view';

/**
 * `none_here`: the folder stands alone, so nothing says how its checkpoints came about. `retired`: only the record is left, and
 * nothing derives what it stands for.
 */
export type Justified = 'yes' | 'no' | 'none_here' | 'retired';

export interface LineageHead {
  readonly sequence: number;
  readonly digest: string;
  readonly phase: RecoveryPhase;
}

export interface LineageReport {
  readonly path: string;
  readonly lineage: number | null;
  readonly valid: boolean;
  readonly justified: Justified;
  /** Null for an empty lineage. Of an invalid one, the last checkpoint before the fault. */
  readonly head: LineageHead | null;
  readonly checkpoints: number;
  /** The last checkpoints, oldest first; the beginning of a long chain is left out. */
  readonly chain: readonly LineageHead[];
  readonly effects: number;
  readonly committed: number;
  /** Where the chain first leaves its rules, or its witnesses. */
  readonly divergence: Divergence | null;
}

const LONGEST_CHAIN_SHOWN = 100;

/** What is checked beyond the contract, link by link. Answers whether the checkpoint is justified. */
export interface LinkCheck {
  /** What the file should hold after `previous`, when that is known without reading it. */
  expected(previous: RecoveryCheckpoint | null, bytes: Uint8Array): Promise<RecoveryCheckpoint | null>;
  link(
    previous: RecoveryCheckpoint | null,
    next: RecoveryCheckpoint,
    path: string,
  ): Promise<{ readonly justified: boolean; readonly divergence: Divergence | null }>;
  /** The chain that was retired, derived anew; null where what is left does not lead to its end. */
  retired(record: RetiredJournalRecord): Promise<readonly RecoveryCheckpoint[] | null>;
}

export async function verifyLineage(
  view: JournalView,
  findings: Findings,
  folder: string,
  lineage: number | null,
  check: LinkCheck | null,
): Promise<LineageReport> {
  const watched = new WatchedFolder(view.checkpoints(folder));
  let head: RecoveryCheckpoint | null = null;
  const chain: LineageHead[] = [];
  let count = 0;
  let justified = true;
  let divergence: Divergence | null = null;
  const report = (valid: boolean, state: Justified): LineageReport => ({
    path: folder === '' ? '.' : folder,
    lineage,
    valid,
    justified: state,
    head: chain.at(-1) ?? null,
    checkpoints: count,
    chain,
    effects: head?.effects.length ?? 0,
    committed: head?.effects.filter((effect) => effect.state === 'committed').length ?? 0,
    divergence,
  });
  const take = async (checkpoint: RecoveryCheckpoint, path: string): Promise<void> => {
    if (check !== null) {
      const answer = await check.link(head, checkpoint, path);
      if (!answer.justified) divergence ??= answer.divergence;
      justified &&= answer.justified;
    }
    head = checkpoint;
    count += 1;
    chain.push(headOf(checkpoint));
    if (chain.length > LONGEST_CHAIN_SHOWN) chain.shift();
  };
  try {
    let expected: RecoveryCheckpoint | null = null;
    const opened = await openCheckpointFolder(watched, {
      recognise: async (bytes, previous) => (expected = (await check?.expected(previous, bytes)) ?? null),
    });
    if (opened.state === 'retired') {
      const derived = (await check?.retired(opened.record)) ?? null;
      if (check === null || derived === null) return retired(folder, lineage, opened.record);
      for (const checkpoint of derived) await take(checkpoint, joined(folder, RETIRED_FILE_NAME));
      return report(true, justified ? 'yes' : 'no');
    }
    for (const name of watched.temporaries) findings.add('leftover_temporary', joined(folder, name));
    for await (const { name, bytes, checkpoint } of opened.files) {
      const path = joined(folder, name);
      // One that was recognised is canonical: that is what it was recognised by.
      if (checkpoint !== expected && !isCanonicalCheckpoint(bytes, checkpoint)) findings.add('not_canonical', path);
      await take(checkpoint, path);
    }
  } catch (fault) {
    if (!(fault instanceof RecoveryError)) throw fault;
    throwOutage(fault.cause);
    const place = await watched.placeOf(fault, count);
    const broken = divergenceOf(fault, place.sequence, place.bytes, head);
    findings.add('lineage_invalid', joined(folder, place.name), fault.message, broken);
    divergence = broken;
    return report(false, check === null ? 'none_here' : 'no');
  }
  return report(true, check === null ? 'none_here' : justified ? 'yes' : 'no');
}

function headOf({ sequence, checkpointDigest, phase }: RecoveryCheckpoint): LineageHead {
  return { sequence: Number(sequence), digest: checkpointDigest, phase };
}

function retired(
  folder: string,
  lineage: number | null,
  record: { finalCheckpointDigest: string; phase: RecoveryPhase; checkpointCount: bigint; effectCount: bigint },
): LineageReport {
  const count = Number(record.checkpointCount);
  return {
    path: folder === '' ? '.' : folder,
    lineage,
    valid: true,
    justified: 'retired',
    head: { sequence: count - 1, digest: record.finalCheckpointDigest, phase: record.phase },
    checkpoints: count,
    chain: [],
    effects: Number(record.effectCount),
    committed: Number(record.effectCount),
    divergence: null,
  };
}

/** Remembers which file was looked at last: a fault of the contract names the rule, not the file. */
class WatchedFolder implements CheckpointFolderView {
  readonly temporaries: string[] = [];
  private last = '';

  constructor(private readonly inner: CheckpointFolderView) {}

  async names(): Promise<readonly string[]> {
    const names = await this.inner.names();
    for (const name of names) if (name.startsWith(TEMPORARY_PREFIX)) this.temporaries.push(name);
    return names;
  }

  entryKind(name: string): ReturnType<CheckpointFolderView['entryKind']> {
    this.last = name;
    return this.inner.entryKind(name);
  }

  size(name: string): ReturnType<CheckpointFolderView['size']> {
    return this.inner.size(name);
  }

  read(name: string): ReturnType<CheckpointFolderView['read']> {
    return this.inner.read(name);
  }

  /** A broken link is at the first checkpoint that was not handed out; any other fault in the file looked at last. */
  async placeOf(
    fault: RecoveryError,
    handedOut: number,
  ): Promise<{ name: string; sequence: number; bytes: Uint8Array | null }> {
    const missing = fault.code === 'checkpoint_sequence_gap' && fault.fieldName === 'journal';
    const byRule = fault.fieldName === 'lineage';
    const known = /^checkpoint-([0-9]{20})\.json$/.exec(this.last)?.[1];
    const sequence = byRule || known === undefined ? handedOut : Number(known) + (missing ? 1 : 0);
    const name = byRule || missing ? checkpointFileName(BigInt(sequence)) : this.last;
    const bytes = missing || name === '' ? null : await this.bytes(name);
    return { name, sequence, bytes };
  }

  private async bytes(name: string): Promise<Uint8Array | null> {
    try {
      return (await this.inner.entryKind(name)) === 'file' ? await this.inner.read(name) : null;
    } catch {
      return null;
    }
  }
}
