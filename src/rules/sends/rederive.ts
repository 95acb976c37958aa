/**
 * The chain of a retired lineage, derived anew from where it began and the witnesses that stay. Invariant: an answer ends in the
 * very checkpoint that the record names, and each digest covers the one before it, so it is the chain that was retired.
 */
import { isTerminalPhase, type RecoveryCheckpoint, type RetiredJournalRecord } from '../recovery';
import { deriveNext, type Witness } from './witness';

/** Null where the witnesses do not lead there. Some may be of other lineages, or of drivers that came too late. */
export function rederiveChain(
  opening: RecoveryCheckpoint,
  witnesses: readonly Witness[],
  record: RetiredJournalRecord,
): readonly RecoveryCheckpoint[] | null {
  const length = Number(record.checkpointCount);
  // Nearly always the next step is that of the witness that was written next; every other one is tried all the same.
  const inTime = [...witnesses].sort((a, b) => a.now - b.now);
  const path = [{ head: opening, from: 0, tried: 0 }];
  const deadEnds = new Set<string>();
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    const { head } = last;
    if (path.length === length && head.checkpointDigest === record.finalCheckpointDigest) {
      return path.map((step) => step.head);
    }
    let next: RecoveryCheckpoint | null = null;
    const open = path.length < length && !isTerminalPhase(head.phase);
    let at = 0;
    for (; open && next === null && last.tried < inTime.length; last.tried += 1) {
      at = (last.from + last.tried) % inTime.length;
      next = derived(head, inTime[at] as Witness);
      if (next !== null && deadEnds.has(next.checkpointDigest)) next = null;
    }
    if (next !== null) {
      path.push({ head: next, from: at + 1, tried: 0 });
    } else {
      deadEnds.add(head.checkpointDigest);
      path.pop();
    }
  }
  return null;
}

function derived(head: RecoveryCheckpoint, witness: Witness): RecoveryCheckpoint | null {
  try {
    const { checkpoint } = deriveNext(head, witness);
    return checkpoint.checkpointDigest === witness.checkpointDigest ? checkpoint : null;
  } catch {
    return null; // of another lineage, or of another plan's length
  }
}
