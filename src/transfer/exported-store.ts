/**
 * The entries of an exported run as a store. Invariant: it can only be read, and what it lists is exactly what the file holds.
 */
import { StoreError, type Store } from '../ports';

/** Where a line stands in its file. */
export interface Span {
  readonly offset: number;
  readonly length: number;
}

export class ExportedStore implements Store {
  readonly scope = 'host';
  private readonly files = new Map<string, Span>();
  private readonly folders = new Map<string, Set<string>>([['', new Set()]]);

  constructor(private readonly text: (span: Span) => Promise<string>) {}

  /** False when the path is a folder already, or leads through an entry. */
  add(path: string, span: Span): boolean {
    const segments = path.split('/');
    for (let depth = 1; depth < segments.length; depth += 1) {
      if (this.files.has(segments.slice(0, depth).join('/'))) return false;
    }
    if (this.folders.has(path)) return false;
    for (let depth = 1; depth < segments.length; depth += 1) {
      const folder = segments.slice(0, depth).join('/');
      if (this.folders.has(folder)) continue;
      this.folders.set(folder, new Set());
      this.within(folder, '/');
    }
    this.files.set(path, span);
    this.within(path, '');
    return true;
  }

  holds(path: string): boolean {
    return this.files.has(path);
  }

  create(path: string): Promise<never> {
    return Promise.reject(new StoreError('store_read_only', `"${path}" cannot be written into an exported run`));
  }

  async read(path: string): Promise<Uint8Array | null> {
    const span = this.files.get(path);
    return span === undefined ? null : new TextEncoder().encode(await this.text(span));
  }

  list(prefix: string, after = ''): Promise<readonly string[]> {
    const names = [...(this.folders.get(prefix.replace(/\/$/, '')) ?? [])].sort();
    return Promise.resolve(names.filter((name) => name > after));
  }

  private within(path: string, suffix: '/' | ''): void {
    const cut = path.lastIndexOf('/');
    this.folders.get(path.slice(0, Math.max(0, cut)))?.add(`${path.slice(cut + 1)}${suffix}`);
  }
}
