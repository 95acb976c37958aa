/**
 * A small world for anchors: stores in memory that can die at any write, and a journal that grows by whole checkpoints of
 * `sampleJournal`s.
 */
import type { ContentStore, CreateOutcome } from '../../src/ports';
import { signerFromSeed, type KeyKind, type SignerKey } from '../../src/rules/anchors/note-keys';
import { noteFromBytes } from '../../src/anchor/log-entries';
import { treeHeadFromText } from '../../src/rules/anchors/tree-head';
import { sampleJournal, type SampleJournal } from '../verify/sample-journal';

export function keyOf(name: string, byte = 1, kind: KeyKind = 'log'): SignerKey {
  return signerFromSeed(kind, name, new Uint8Array(32).fill(byte));
}

export const LOG_KEY = keyOf('example.com/journal');

/** The end of a process in a test: nothing after it happens. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

export class MemoryStore implements ContentStore {
  readonly scope = 'shared';
  /** Every text that was ever offered under `heads/`, by size: what a key has signed. */
  readonly signed = new Map<number, Set<string>>();
  /** Called before and after each write. */
  onWrite: (moment: 'before' | 'after', path: string) => void | Promise<void> = () => undefined;

  constructor(readonly files = new Map<string, Uint8Array>()) {}

  async create(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    if (path.startsWith('heads/')) this.remember(bytes);
    await this.onWrite('before', path);
    const before = this.files.get(path);
    if (before === undefined) this.files.set(path, bytes.slice());
    await this.onWrite('after', path);
    return before === undefined ? 'created' : Buffer.compare(before, bytes) === 0 ? 'identical' : 'conflict';
  }

  async read(path: string): Promise<Uint8Array | null> {
    return this.files.get(path) ?? null;
  }

  async list(prefix: string): Promise<readonly string[]> {
    const folder = prefix === '' ? '' : `${prefix}/`;
    const names = new Set<string>();
    for (const path of this.files.keys()) {
      if (!path.startsWith(folder)) continue;
      const rest = path.slice(folder.length);
      const slash = rest.indexOf('/');
      names.add(slash < 0 ? rest : rest.slice(0, slash + 1));
    }
    return [...names].sort();
  }

  async delete(path: string): Promise<void> {
    await this.onWrite('before', path);
    this.files.delete(path);
  }

  /** The same entries, to be damaged or to go another way. */
  copy(): MemoryStore {
    return new MemoryStore(new Map(this.files));
  }

  private remember(bytes: Uint8Array): void {
    const text = noteFromBytes(bytes)?.text ?? '';
    const size = treeHeadFromText(text)?.size ?? -1;
    this.signed.set(size, (this.signed.get(size) ?? new Set()).add(text));
  }
}

/** Several runs of which the first checkpoints are there; `grow` adds the next one of a run. */
export class GrowingJournal {
  readonly store = new MemoryStore();
  readonly lengths: number[] = [];

  private constructor(readonly samples: readonly SampleJournal[]) {}

  static async of(runs: number): Promise<GrowingJournal> {
    const samples: SampleJournal[] = [];
    for (let run = 0; run < runs; run += 1) samples.push(await sampleJournal(`run-${run}`));
    const journal = new GrowingJournal(samples);
    for (const [place, sample] of samples.entries()) {
      for (const [path, bytes] of sample.files) {
        if (!path.includes('/lineage-') && !path.includes('/sends/')) journal.store.files.set(path, bytes);
      }
      journal.lengths.push(0);
      journal.grow(place);
    }
    return journal;
  }

  /** False when the run is at its end. */
  grow(place: number): boolean {
    const { run, files } = this.samples[place] as SampleJournal;
    const path = checkpointPath(run, this.lengths[place] as number);
    const bytes = files.get(path);
    if (bytes === undefined) return false;
    this.store.files.set(path, bytes);
    // Slots are taken under the head that has just been put.
    for (const [name, slot] of files) {
      if (!name.includes('/sends/') || name.endsWith('.end')) continue;
      const { head } = JSON.parse(slot.toString()) as { head: { sequence: number } };
      if (head.sequence !== this.lengths[place]) continue;
      this.store.files.set(name, slot);
      const end = files.get(`${name}.end`);
      if (end !== undefined) this.store.files.set(`${name}.end`, end);
    }
    this.lengths[place] = (this.lengths[place] as number) + 1;
    return true;
  }
}

export function checkpointPath(run: string, sequence: number): string {
  return `${run}/lineage-0001/checkpoint-${String(sequence).padStart(20, '0')}.json`;
}
