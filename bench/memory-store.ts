/** A store in memory: what a plan costs without a disk, so that the rest of its cost is the disk's. Survives nothing. */
import type { CreateOutcome, Store } from '../src';

export class BenchMemoryStore implements Store {
  readonly scope = 'host';
  private readonly entries = new Map<string, Uint8Array>();
  private readonly folders = new Map<string, Set<string>>();

  async create(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const stored = this.entries.get(path);
    if (stored !== undefined) return Buffer.compare(stored, bytes) === 0 ? 'identical' : 'conflict';
    this.entries.set(path, bytes);
    const names = path.split('/');
    for (let depth = names.length - 1; depth >= 0; depth -= 1) {
      const folder = names.slice(0, depth).join('/');
      const name = `${names[depth]}${depth === names.length - 1 ? '' : '/'}`;
      const known = this.folders.get(folder) ?? new Set();
      this.folders.set(folder, known.add(name));
    }
    return 'created';
  }

  async read(path: string): Promise<Uint8Array | null> {
    return this.entries.get(path) ?? null;
  }

  async list(prefix: string, after = ''): Promise<readonly string[]> {
    return [...(this.folders.get(prefix) ?? [])].filter((name) => name > after).sort();
  }
}
