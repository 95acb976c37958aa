/**
 * Justification: a checkpoint follows from its predecessor by a witness that is stored for it. Invariant: a witness counts
 * only when its name is the hash of its bytes and deriving from it gives exactly the checkpoint that its folder names.
 */
import { sha256Hex, type RecoveryCheckpoint } from '../rules/recovery';
import { deriveNext, witnessFromBytes, witnessToText, type Witness } from '../rules/sends/witness';
import type { Findings } from './findings';
import { joined, readEntry, sameText, type JournalView } from './view';

export interface Justification {
  /** Every stored witness that derives the checkpoint. None: it is not justified. */
  readonly witnesses: readonly Witness[];
  /** The checkpoint as they derive it. */
  readonly derived: RecoveryCheckpoint | null;
  /** Whether anything was stored at all. */
  readonly stored: boolean;
  /** What is stored and does not justify. */
  readonly faults: readonly WitnessFault[];
  /** Witnesses that are true, but not in their own words. */
  readonly notCanonical: readonly string[];
}

export interface WitnessFault {
  readonly path: string;
  /** What is wrong, when it is not that something else is derived. */
  readonly detail: string | null;
  readonly derivesOther: RecoveryCheckpoint | null;
}

const DIGEST_IN_FILE = /"checkpoint_digest":"(sha256:[0-9a-f]{64})"/;
/** In a canonical file the digest stands before the effects. */
const DIGEST_WITHIN_BYTES = 512;

/** The digest that a file claims, found without reading the rest; null when it is not where it belongs. */
export function claimedDigest(bytes: Uint8Array): string | null {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, DIGEST_WITHIN_BYTES));
  return DIGEST_IN_FILE.exec(start)?.[1] ?? null;
}

export async function justify(
  view: JournalView,
  findings: Findings,
  runFolder: string,
  previous: RecoveryCheckpoint,
  digest: string,
): Promise<Justification> {
  const folder = joined(runFolder, `witnesses/${digest.slice('sha256:'.length)}`);
  const witnesses: Witness[] = [];
  const faults: WitnessFault[] = [];
  const notCanonical: string[] = [];
  let derived: RecoveryCheckpoint | null = null;
  const entries = (await view.list(folder)) ?? [];
  for (const entry of entries) {
    const path = joined(folder, entry.name);
    const bytes = await readEntry(view, findings, folder, entry);
    if (bytes === null) continue;
    const witness = parsed(bytes);
    if (witness === null || entry.name !== `${sha256Hex(bytes)}.json`) {
      faults.push({ path, detail: witness === null ? 'not a witness' : 'name', derivesOther: null });
      continue;
    }
    if (!sameText(bytes, witnessToText(witness))) notCanonical.push(path);
    const next = derive(previous, witness);
    if (next?.checkpointDigest === digest && witness.checkpointDigest === digest) {
      witnesses.push(witness);
      derived = next;
    } else {
      faults.push({ path, detail: next === null ? 'derives nothing' : null, derivesOther: next });
    }
  }
  return { witnesses, derived, stored: entries.length > 0, faults, notCanonical };
}

/** Every witness of a run that can be read; each counts only for what it derives. */
export async function storedWitnesses(
  view: JournalView,
  findings: Findings,
  folder: string,
): Promise<readonly Witness[]> {
  const found: Witness[] = [];
  for (const { name } of (await view.list(folder)) ?? []) {
    const path = joined(folder, name);
    for (const entry of (await view.list(path)) ?? []) {
      const bytes = await readEntry(view, findings, path, entry);
      const witness = bytes === null ? null : parsed(bytes);
      if (witness !== null) found.push(witness);
    }
  }
  return found;
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
