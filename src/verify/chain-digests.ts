/**
 * The digest of each checkpoint of the lineages that were verified, by number. Invariant: 32 bytes a checkpoint and no more, so
 * that a large journal can be compared with what is known of it from elsewhere.
 */
import { checkpointFileName } from '../rules/recovery';
import type { LineageReport } from './lineage';
import { joined, type JournalView } from './view';
import { claimedDigest } from './witnesses';

const BYTES = 32;

export class ChainDigests {
  readonly #chains = new Map<string, Chain>();

  /** Of a whole lineage, one after the other. */
  add(runId: string, lineage: number, digest: string): void {
    this.#chainOf(runId, lineage).push(digest);
  }

  /** Of a retired lineage of which only the end is known. */
  addEnd(runId: string, lineage: number, checkpoints: number, digest: string): void {
    this.#chainOf(runId, lineage).skipTo(checkpoints - 1, digest);
  }

  of(runId: string, lineage: number): Chain | null {
    return this.#chains.get(`${runId}/${lineage}`) ?? null;
  }

  *all(): Iterable<Chain> {
    yield* this.#chains.values();
  }

  #chainOf(runId: string, lineage: number): Chain {
    const name = `${runId}/${lineage}`;
    const known = this.#chains.get(name) ?? new Chain();
    this.#chains.set(name, known);
    return known;
  }
}

export class Chain {
  #bytes = Buffer.alloc(4 * BYTES);
  #length = 0;
  /** Those before are not known. */
  #from = 0;
  /** The last number that an anchor has, or -1. */
  anchored = -1;

  get length(): number {
    return this.#from + this.#length;
  }

  push(digest: string): void {
    if ((this.#length + 1) * BYTES > this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)]);
    }
    this.#bytes.write(digest.slice('sha256:'.length), this.#length * BYTES, 'hex');
    this.#length += 1;
  }

  skipTo(sequence: number, digest: string): void {
    this.#length = 0;
    this.#from = sequence;
    this.push(digest);
  }

  /** Null where the number is past the end, or only retired without a trace. */
  at(sequence: number): string | null {
    const place = sequence - this.#from;
    if (place < 0 || place >= this.#length) return null;
    return `sha256:${this.#bytes.toString('hex', place * BYTES, (place + 1) * BYTES)}`;
  }

  isRetired(sequence: number): boolean {
    return sequence < this.#from;
  }

  holds(digest: string): boolean {
    for (let at = this.#from; at < this.length; at += 1) if (this.at(at) === digest) return true;
    return false;
  }
}

/** Of a lineage that breaks off, also what its later files claim to be. */
export async function rememberChain(
  view: JournalView,
  chains: ChainDigests,
  runId: string,
  digests: readonly string[],
  { path, lineage, valid, justified, head, checkpoints }: LineageReport,
): Promise<void> {
  const number = lineage ?? 0;
  if (justified === 'retired' && head !== null) chains.addEnd(runId, number, checkpoints, head.digest);
  else for (const digest of digests) chains.add(runId, number, digest);
  if (valid) return;
  const names = new Set(((await view.list(path)) ?? []).map(({ name }) => name));
  for (let sequence = digests.length; ; sequence += 1) {
    const name = checkpointFileName(BigInt(sequence));
    const digest = names.has(name) ? await claimed(view, joined(path, name)) : null;
    if (digest === null) return;
    chains.add(runId, number, digest);
  }
}

async function claimed(view: JournalView, path: string): Promise<string | null> {
  try {
    return claimedDigest(await view.read(path));
  } catch {
    return null;
  }
}
