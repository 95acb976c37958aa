/**
 * Creates that go on and on, as a worker's would, and the account of what was acknowledged; for tests of outages.
 *
 * Each writer creates the pairs `<writer>/first-N` and `<writer>/second-N` in order, N from 0, and begins N + 1 only when N is
 * acknowledged; what threw is settled by creating it again, as the engine does.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError, type Store } from '../../../src/ports';
import { bytes, text } from './values';

const WRITERS = 6;
/** Between a failure and the next try. */
const PAUSE_MS = 20;

export class Traffic {
  readonly #next = Array.from({ length: WRITERS }, () => 0);
  readonly #codes = new Set<string>();
  readonly #strange: unknown[] = [];
  readonly #ended: Promise<unknown>;
  #over = false;

  constructor(store: Store) {
    this.#ended = Promise.all(this.#next.map((_, writer) => this.#write(store, writer)));
  }

  get acknowledged(): number {
    return this.#next.reduce((sum, next) => sum + next, 0);
  }

  /** Waits until so many more are acknowledged: the store goes on. */
  async progress(more: number): Promise<void> {
    const enough = this.acknowledged + more;
    while (this.acknowledged < enough) await delay(5);
  }

  /** Waits until a create fails by this code. */
  async failing(code: string): Promise<void> {
    while (!this.#codes.has(code)) await delay(5);
  }

  /** By which codes creates failed since this was last asked. */
  codes(): readonly string[] {
    const codes = [...this.#codes].sort();
    this.#codes.clear();
    return codes;
  }

  async end(): Promise<void> {
    this.#over = true;
    await this.#ended;
  }

  /** What is wrong with what the store holds: lost, doubled, torn, out of order or never created. Empty when all is well. */
  async faults(store: Store): Promise<readonly unknown[]> {
    const faults: unknown[] = [...this.#strange];
    for (const [writer, acknowledged] of this.#next.entries()) {
      const names = new Set(await store.list(`writer-${writer}`));
      for (let at = 0; at < acknowledged; at += 1) {
        for (const part of ['first', 'second']) {
          const name = `${part}-${at}`;
          if (!names.delete(name)) faults.push(`lost: ${writer}/${name}`);
          else if (text(await store.read(`writer-${writer}/${name}`)) !== valueOf(writer, name))
            faults.push(`torn: ${name}`);
        }
      }
      // Of the pair under way, nothing, or both: they were created in one transaction.
      if (names.size > 0 && [...names].sort().join() !== `first-${acknowledged},second-${acknowledged}`) {
        faults.push(`never created: ${[...names].join()}`);
      }
    }
    return faults;
  }

  async #write(store: Store, writer: number): Promise<void> {
    const pair = (at: number) =>
      ['first', 'second'].map((part) => {
        const name = `${part}-${at}`;
        return [`writer-${writer}/${name}`, bytes(valueOf(writer, name))] as const;
      });
    for (let threw = false; !this.#over;) {
      try {
        const outcomes = (await store.createInOrder!(pair(this.#next[writer]!))).join();
        // Only what threw before may be there already: nobody else writes these names.
        if (outcomes !== 'created,created' && !(threw && outcomes === 'identical,identical'))
          this.#strange.push(outcomes);
        this.#next[writer]! += 1;
        threw = false;
      } catch (fault) {
        if (!(fault instanceof StoreError)) this.#strange.push(fault);
        this.#codes.add((fault as StoreError).code);
        threw = true;
        await delay(PAUSE_MS);
      }
    }
  }
}

const valueOf = (writer: number, name: string): string => `${writer} ${name} `.repeat(400);
