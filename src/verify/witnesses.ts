/**
 * Justification: a checkpoint follows from its predecessor by a witness that is stored for it. Invariant: a witness counts
 * only when its name is the hash of its bytes and deriving from it gives exactly the checkpoint that its folder names.
 */
import { sha256Hex, type RecoveryCheckpoint } from '../rules/recovery';
import { deriveNext, witnessFromBytes, witnessToText, type Witness } from '../rules/sends/witness';
import { firstDifference } from './difference';
import type { Divergence, Findings } from './findings';
import { joined, readEntry, sameText, type JournalView } from './view';

export interface Justification {
  /** Every stored witness that derives the checkpoint. None: it is not justified. */
  readonly witnesses: readonly Witness[];
  /** Whether anything was stored at all. */
  readonly stored: boolean;
  /** Where the first witness that derives something else leads away. */
  readonly divergence: Divergence | null;
}

export function witnessFolder(runFolder: string, checkpoint: RecoveryCheckpoint): string {
  return joined(runFolder, `witnesses/${checkpoint.checkpointDigest.slice('sha256:'.length)}`);
}

export async function justify(
  view: JournalView,
  findings: Findings,
  runFolder: string,
  previous: RecoveryCheckpoint,
  next: RecoveryCheckpoint,
): Promise<Justification> {
  const folder = witnessFolder(runFolder, next);
  const witnesses: Witness[] = [];
  let divergence: Divergence | null = null;
  const entries = (await view.list(folder)) ?? [];
  for (const entry of entries) {
    const path = joined(folder, entry.name);
    const bytes = await readEntry(view, findings, folder, entry);
    const witness = bytes === null ? null : parsed(bytes);
    if (bytes === null) continue;
    if (witness === null || entry.name !== `${sha256Hex(bytes)}.json`) {
      findings.add('witness_invalid', path, witness === null ? 'not a witness' : 'name');
      continue;
    }
    if (!sameText(bytes, witnessToText(witness))) findings.add('not_canonical', path);
    const derived = derive(previous, witness);
    const fits =
      derived?.checkpointDigest === next.checkpointDigest && derived.checkpointDigest === witness.checkpointDigest;
    if (fits) {
      witnesses.push(witness);
      continue;
    }
    const apart = derived === null ? null : firstDifference(derived, next);
    divergence ??= apart;
    findings.add('witness_invalid', path, derived === null ? 'derives nothing' : null, apart);
  }
  return { witnesses, stored: entries.length > 0, divergence };
}

function parsed(bytes: Uint8Array): Witness | null {
  try {
    return witnessFromBytes(bytes);
  } catch {
    return null;
  }
}

/** Null when the rules refuse to go on from here at all. */
function derive(previous: RecoveryCheckpoint, witness: Witness): RecoveryCheckpoint | null {
  try {
    return deriveNext(previous, witness).checkpoint;
  } catch {
    return null;
  }
}
