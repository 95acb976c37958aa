/**
 * An anchor log as somebody sees it who trusts a key and nothing else. Invariant: no tree head leaves here that the key has not
 * signed, and no proof that has not been checked against one.
 */
import type { Store } from '../ports';
import { noteToText, signersOf, type Note, type Signed } from '../rules/anchors/note';
import type { VerifierKey } from '../rules/anchors/note-keys';
import { holdsConsistency, holdsInclusion } from '../rules/anchors/proofs';
import { proofToText } from '../rules/anchors/proof-text';
import { treeHeadFromText, type TreeHead } from '../rules/anchors/tree-head';
import { AnchorError } from './anchor-error';
import { HeldTiles } from './held-tiles';
import { LogEntries } from './log-entries';
import { fastLeafHash, fastNodeHash } from './native-hash';
import { TileReader } from './tile-reader';

export interface SignedHead extends TreeHead {
  readonly note: Note;
}

/** The head that a note is about, or null unless the key signed it under its own name. */
export function signedHead(note: Note | null, key: VerifierKey): SignedHead | null {
  const head = note === null ? null : treeHeadFromText(note.text);
  if (note === null || head === null || head.origin !== key.name) return null;
  return signersOf(note, [key])?.length === 1 ? { ...head, note } : null;
}

export class LogReader {
  readonly entries: LogEntries;
  private readonly held = new HeldTiles();

  constructor(
    private readonly log: Store,
    readonly key: VerifierKey,
  ) {
    this.entries = new LogEntries(log);
  }

  /** The newest head, or that of a size, with all co-signatures that are there. */
  async head(size?: number): Promise<SignedHead> {
    const wanted = size ?? (await this.entries.latestHead());
    const note = wanted === null ? null : await this.entries.note(wanted);
    if (wanted === null || note === null) {
      const reason = 'there is no signed tree head here; is this the folder of a log, and was it ever written?';
      throw new AnchorError('anchor_missing', reason);
    }
    const head = signedHead(note, this.key);
    if (head === null || head.size !== wanted) {
      throw new AnchorError(
        'anchor_unsigned',
        'the tree head of this log is not signed by the given key under its name',
      );
    }
    const cosignatures = await this.entries.cosignatures(wanted);
    return { ...head, note: { ...note, signatures: [...note.signatures, ...cosignatures] } };
  }

  tiles(size: number): TileReader {
    return new TileReader(this.log, size, this.held);
  }

  /** Whether the newer tree of this log continues the older one; the proof is made from the tiles and checked against both. */
  async continues(older: TreeHead, newer: TreeHead): Promise<boolean> {
    if (older.size > newer.size) return false;
    const proof = await this.tiles(newer.size).consistencyProof(older.size);
    return holdsConsistency(older, newer, proof, fastNodeHash);
  }

  /** One entry with its proof, as a text that stands for itself. */
  async prove(index: number, head: SignedHead): Promise<string> {
    const tiles = this.tiles(head.size);
    const [entry, hashes] = await Promise.all([tiles.entry(index), tiles.inclusionProof(index)]);
    if (!holdsInclusion(fastLeafHash(entry), index, head.size, head.root, hashes, fastNodeHash)) {
      throw new AnchorError('anchor_damaged', `entry ${index} of the log does not lead to its signed tree head`);
    }
    return proofToText({ entry, index, hashes, note: noteToText(head.note) });
  }
}

/** The witnesses among these that have co-signed. Null: a co-signature under a witness's name and id does not hold. */
export function cosigners(head: SignedHead, witnesses: readonly VerifierKey[]): readonly Signed[] | null {
  return signersOf(head.note, witnesses);
}
