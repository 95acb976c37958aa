/**
 * A journal against its anchor log, with nothing but a key to trust. Invariant: every entry of the signed tree that is about a run
 * here stands in the journal under its number; what the journal has beyond is reported as not anchored yet, never as wrong.
 */
import {
  AnchorError,
  LogReader,
  cosigners,
  signedHead,
  stampedTime,
  type SignedHead,
  type TimeStamper,
} from '../anchor';
import { noteFromBytes, type LogIdentity } from '../anchor/log-entries';
import type { Store } from '../ports';
import { GrowingTree } from '../rules/anchors/growing-tree';
import { lineageHeadFromBytes, type LineageHeadRecord } from '../rules/anchors/lineage-head';
import { leafHash, sameHash } from '../rules/anchors/merkle';
import type { Note } from '../rules/anchors/note';
import { verifierToText, type VerifierKey } from '../rules/anchors/note-keys';
import { isProofText, proofFromText, type ProofText } from '../rules/anchors/proof-text';
import { holdsInclusion } from '../rules/anchors/proofs';
import { TILE_WIDTH } from '../rules/anchors/tiles';
import { Refusal } from '../rules/refusal';
import type { Chain, ChainDigests } from './chain-digests';
import type { FindingCode, Findings } from './findings';

/** A log, or one file that was kept of it: a signed tree head, or a proof of one entry. */
export type GivenAnchor = { readonly name: string } & ({ readonly log: Store } | { readonly file: Uint8Array });

export interface AnchorCheck {
  readonly anchors: readonly GivenAnchor[];
  readonly key: VerifierKey;
  readonly witnesses?: readonly VerifierKey[];
  /** How many of them must have co-signed. @default all that are given */
  readonly witnessesNeeded?: number;
  readonly timeStamper?: TimeStamper;
}

export interface AnchorReport {
  readonly name: string;
  readonly origin: string;
  /** Entries of the newest signed tree. */
  readonly size: number;
  readonly root: string;
  /** Entries about runs that are here, each found where it belongs. */
  readonly heads: number;
  readonly witnesses: readonly { readonly name: string; readonly time: number | null }[];
  /** Unix milliseconds at which the tree existed, by an external time stamp. */
  readonly stamped: number | null;
  /** Not wrong: the anchor process is behind, or has seen a head and not those before. */
  readonly notAnchored: { readonly lineages: number; readonly checkpoints: number };
}

export interface Anchorable {
  /** Null where the folder is a run by itself. */
  readonly journalId: string | null;
  /** All runs of the journal are here, so that one that is not was dropped. */
  readonly whole: boolean;
  readonly runs: ReadonlySet<string>;
  readonly chains: ChainDigests;
}

export async function compareAnchors(
  findings: Findings,
  here: Anchorable,
  check: AnchorCheck,
): Promise<readonly AnchorReport[]> {
  const comparison = new AnchorComparison(findings, here, check);
  for (const anchor of check.anchors) await comparison.take(anchor);
  return comparison.reports();
}

interface Known {
  readonly name: string;
  readonly head: SignedHead;
  readonly reader: LogReader | null;
  readonly stamped: number | null;
  heads: number;
}

class AnchorComparison {
  readonly #known: Known[] = [];

  constructor(
    private readonly findings: Findings,
    private readonly here: Anchorable,
    private readonly check: AnchorCheck,
  ) {}

  async take(anchor: GivenAnchor): Promise<void> {
    try {
      if ('log' in anchor) await this.#takeLog(anchor.name, anchor.log);
      else await this.#takeFile(anchor.name, anchor.file);
    } catch (fault) {
      if (fault instanceof AnchorError) this.findings.add(CODES[fault.code] ?? 'anchor_unusable', anchor.name);
      else if (fault instanceof Refusal) this.findings.add('anchor_forged_append', anchor.name, fault.field);
      else throw fault;
    }
  }

  /** Also compares what is known of the log with each other. */
  async reports(): Promise<readonly AnchorReport[]> {
    const newest = [...this.#known].sort((one, other) => other.head.size - one.head.size);
    for (const known of this.#known) await this.#compareViews(known);
    const [first] = newest;
    if (first !== undefined) this.#requireWitnesses(first);
    return newest.map((known) => this.#report(known));
  }

  /** Of the newest head alone: whatever older one it continues is vouched for with it. */
  #requireWitnesses({ name, head }: Known): void {
    const { witnesses = [], witnessesNeeded = witnesses.length } = this.check;
    const signed = cosigners(head, witnesses)?.length ?? 0;
    if (signed < witnessesNeeded) {
      this.findings.add('anchor_witnesses_missing', name, `${signed} of ${witnessesNeeded}`);
    }
  }

  async #takeLog(name: string, log: Store): Promise<void> {
    const reader = new LogReader(log, this.check.key);
    const identity = await reader.entries.identity();
    const { journalId } = this.here;
    if (journalId !== null && identity !== null && identity.journalId !== journalId) {
      this.findings.add('anchor_log_replaced', name, 'journal_id');
      return;
    }
    const head = await this.#headOf(reader, identity);
    if (head === null) {
      this.findings.add('anchor_forged_append', name, 'head');
      return;
    }
    const { timeStamper } = this.check;
    const stamped = timeStamper === undefined ? null : await stampedTime(log, head, timeStamper);
    const known: Known = { name, head, reader, stamped, heads: 0 };
    this.#known.push(known);
    await this.#takeEntries(known, reader);
  }

  /** Null where the log of this very key has a head that the key has not signed. */
  async #headOf(reader: LogReader, identity: LogIdentity | null): Promise<SignedHead | null> {
    try {
      return await reader.head();
    } catch (fault) {
      const forged = fault instanceof AnchorError && fault.code === 'anchor_unsigned';
      if (forged && identity?.key === verifierToText(this.check.key)) return null;
      throw fault;
    }
  }

  /** All entries, in order; each counts only once the tree over all of them is the signed one. */
  async #takeEntries(known: Known, reader: LogReader): Promise<void> {
    const { name, head } = known;
    const tiles = reader.tiles(head.size);
    const tree = new GrowingTree();
    for (let index = 0; index * TILE_WIDTH < head.size; index += 1) {
      for (const entry of await tiles.entries(index)) tree.append(leafHash(entry));
    }
    if (!sameHash(tree.root(), head.root)) {
      this.findings.add('anchor_forged_append', name);
      return;
    }
    // A second time: none is looked at before all of them are known to be signed.
    const order = new Map<Chain, number>();
    for (let index = 0; index * TILE_WIDTH < head.size; index += 1) {
      for (const entry of await tiles.entries(index)) this.#takeEntry(known, lineageHeadFromBytes(entry), order);
    }
  }

  async #takeFile(name: string, file: Uint8Array): Promise<void> {
    const text = new TextDecoder().decode(file);
    const proof = isProofText(text) ? proofFromText(text) : null;
    if (isProofText(text) && proof === null) throw new AnchorError('anchor_missing', 'this is no proof');
    const note = noteFromBytes(proof === null ? file : new TextEncoder().encode(proof.note));
    const head = this.#signed(note);
    const known: Known = { name, head, reader: null, stamped: null, heads: 0 };
    this.#known.push(known);
    if (proof !== null) this.#takeProof(known, proof);
  }

  #signed(note: Note | null): SignedHead {
    if (note === null) throw new AnchorError('anchor_missing', 'this is no signed note');
    const head = signedHead(note, this.check.key);
    if (head === null) throw new AnchorError('anchor_unsigned', 'this is not signed by the key');
    return head;
  }

  #takeProof(known: Known, { entry, index, hashes }: ProofText): void {
    const { size, root } = known.head;
    if (entry === null || !holdsInclusion(leafHash(entry), index, size, root, hashes)) {
      this.findings.add('anchor_forged_append', known.name);
      return;
    }
    this.#takeEntry(known, lineageHeadFromBytes(entry), new Map());
  }

  /** `order`: how far this log has come with each lineage. */
  #takeEntry(known: Known, entry: LineageHeadRecord, order: Map<Chain, number>): void {
    const { journalId, runId, lineage, sequence, digest } = entry;
    const { here, findings } = this;
    if (here.journalId !== null && journalId !== here.journalId) {
      findings.add('anchor_log_replaced', known.name, 'journal_id');
      return;
    }
    if (!here.runs.has(runId) && !here.whole) return;
    const place = `${runId}/lineage-${String(lineage).padStart(4, '0')}`;
    const chain = here.chains.of(runId, lineage);
    const fault = faultOf(chain, sequence, digest);
    if (fault === null) known.heads += 1;
    else {
      const actual = chain?.at(sequence) ?? null;
      findings.add(fault, place, null, { sequence, field: 'checkpoint_digest', expected: digest, actual });
    }
    if (chain === null) return;
    if (sequence <= (order.get(chain) ?? -1)) findings.add('anchor_order_swapped', place, known.name);
    order.set(chain, sequence);
    chain.anchored = Math.max(chain.anchored, sequence);
  }

  /** Whatever was signed under the name must be one log; the newest that is known must be offered by the log itself. */
  async #compareViews(known: Known): Promise<void> {
    for (const other of this.#known) {
      if (other === known) break; // each pair once
      const [older, newer] = known.head.size < other.head.size ? [known, other] : [other, known];
      const same = older.head.size === newer.head.size && sameHash(older.head.root, newer.head.root);
      if (same) continue;
      if (older.reader !== null && newer.reader === null) {
        if (older.head.size < newer.head.size) this.findings.add('anchor_checkpoint_old', older.name, newer.name);
        else this.findings.add('anchor_split_view', older.name, newer.name);
        continue;
      }
      if (newer.reader === null) {
        if (older.head.size === newer.head.size) this.findings.add('anchor_split_view', older.name, newer.name);
        continue;
      }
      const continued = older.head.size < newer.head.size && (await newer.reader.continues(older.head, newer.head));
      if (!continued) this.findings.add('anchor_split_view', older.name, newer.name);
      else if (older.reader !== null) this.findings.add('anchor_checkpoint_old', older.name, newer.name);
    }
  }

  #report({ name, head, heads, stamped }: Known): AnchorReport {
    const signed = cosigners(head, this.check.witnesses ?? []);
    const behind = [...this.here.chains.all()].filter((chain) => chain.anchored < chain.length - 1);
    const checkpoints = behind.reduce((sum, chain) => sum + chain.length - 1 - chain.anchored, 0);
    return {
      name,
      origin: head.origin,
      size: head.size,
      root: `sha256:${Buffer.from(head.root).toString('hex')}`,
      heads,
      witnesses: (signed ?? []).map(({ key, time }) => ({ name: key.name, time })),
      stamped,
      notAnchored: { lineages: behind.length, checkpoints },
    };
  }
}

function faultOf(chain: Chain | null, sequence: number, digest: string): FindingCode | null {
  if (chain === null) return 'anchor_lineage_dropped';
  // Of a retired lineage the end is left, which follows from all that came before.
  if (chain.isRetired(sequence) || chain.at(sequence) === digest) return null;
  if (chain.holds(digest)) return 'anchor_order_swapped';
  return sequence >= chain.length ? 'anchor_tail_dropped' : 'anchor_head_resealed';
}

const CODES: Readonly<Partial<Record<AnchorError['code'], FindingCode>>> = {
  anchor_unsigned: 'anchor_log_replaced',
};
