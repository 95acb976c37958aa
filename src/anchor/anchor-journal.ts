/**
 * The anchor process of one journal: follows it, and appends new heads of lineages to a log. Invariant: it only reads the journal, so
 * no driver ever waits for it; a store that fails for a while makes it late, which its lag shows, and nothing else.
 */
import { StoreError, type Store } from '../ports';
import { MOST_HEADS_IN_A_BATCH, type AnchoredHead } from '../rules/anchors/batch';
import type { SignerKey } from '../rules/anchors/note-keys';
import type { TreeHead } from '../rules/anchors/tree-head';
import { JournalHeads, journalIdOf } from './journal-heads';
import { LogWriter, type AnchorStep } from './log-writer';
import { stampHead, type TimeStamper } from './time-stamp';

export interface AnchorOptions {
  /** Only read. */
  readonly journal: Store;
  /** The log's own store: another machine, or at least another account, than the journal's. */
  readonly log: Store;
  readonly key: SignerKey;
  /** Ends after one look at the journal. @default false */
  readonly once?: boolean;
  /** Between two looks. @default 1,000 */
  readonly intervalMs?: number;
  readonly signal?: AbortSignal;
  /** Told after each look, and after each that failed. */
  readonly onProgress?: (progress: AnchorProgress) => void | Promise<void>;
  /** Has each signed head stamped that a look ends with. */
  readonly timeStamper?: TimeStamper;
  /** Makes the newest signed head known where readers look for it. */
  readonly publish?: (note: string) => Promise<void>;
  /** Milliseconds of a clock that never goes back. @default this machine's */
  readonly monotonicMs?: () => number;
  /** @internal */
  readonly onStep?: (step: AnchorStep) => void | Promise<void>;
}

export interface AnchorProgress {
  /** Entries of the log; null while it cannot be read. */
  readonly size: number | null;
  /** Heads appended since the process began. */
  readonly appended: number;
  /** Heads that were seen and are not in the signed tree yet. */
  readonly waiting: number;
  /** Every head that the journal had longer ago than this is anchored. */
  readonly lagMs: number;
  readonly unfit: number;
  /** The code of the store's fault because of which this look did not come to its end. */
  readonly fault: string | null;
}

export interface Anchored {
  readonly head: TreeHead;
  readonly appended: number;
  readonly unfit: number;
}

const DEFAULT_INTERVAL_MS = 1_000;

/** Resolves when it was asked to stop, or after one look; throws an `AnchorError` when the log must not be continued. */
export async function anchorJournal(options: AnchorOptions): Promise<Anchored> {
  const process = new AnchorProcess(options);
  for (;;) {
    const anchored = await process.look();
    if (anchored !== null && (options.once === true || options.signal?.aborted === true)) return anchored;
    if (options.signal?.aborted === true) throw process.fault;
    await pause(options.intervalMs ?? DEFAULT_INTERVAL_MS, options.signal);
  }
}

class AnchorProcess {
  /** The store's fault that the last look met. */
  fault: StoreError | null = null;
  readonly #now: () => number;
  #open: { readonly writer: LogWriter; readonly heads: JournalHeads } | null = null;
  #appended = 0;
  #waiting = 0;
  #unfit = 0;
  #stamped = -1;
  /** When the last look began after which nothing was left. */
  #complete: number;

  constructor(private readonly options: AnchorOptions) {
    this.#now = options.monotonicMs ?? ((): number => performance.now());
    this.#complete = this.#now();
  }

  /** Null when a store failed, and it is worth another try. */
  async look(): Promise<Anchored | null> {
    const began = this.#now();
    try {
      this.#open ??= await this.#opened();
      const { writer } = this.#open;
      const ended = await this.#pass(this.#open);
      if (ended) this.#complete = began;
      await this.#stamp(writer);
      this.fault = null;
      await this.#tell(writer.size);
      return { head: writer.head, appended: this.#appended, unfit: this.#unfit };
    } catch (fault) {
      if (!(fault instanceof StoreError) || this.options.once === true) throw fault;
      // What was half done is found and done when the log is opened again.
      this.#open = null;
      this.fault = fault;
      await this.#tell(null);
      return null;
    }
  }

  async #opened(): Promise<{ writer: LogWriter; heads: JournalHeads }> {
    const { journal, log, key, publish, onStep } = this.options;
    const writer = await LogWriter.open({ log, key, publish, onStep, journalId: await journalIdOf(journal) });
    return { writer, heads: new JournalHeads(journal, writer.known) };
  }

  /** Whether it came to the journal's end. */
  async #pass({ writer, heads }: { writer: LogWriter; heads: JournalHeads }): Promise<boolean> {
    const { signal } = this.options;
    let batch: AnchoredHead[] = [];
    const append = async (): Promise<void> => {
      if (batch.length > 0) await writer.append(batch);
      this.#appended += batch.length;
      this.#waiting = 0;
      batch = [];
    };
    const seen = await heads.look(async (head) => {
      this.#waiting = batch.push(head);
      if (batch.length === MOST_HEADS_IN_A_BATCH) await append();
    }, signal);
    await append();
    this.#unfit = seen.unfit;
    return signal?.aborted !== true;
  }

  async #stamp(writer: LogWriter): Promise<void> {
    const { timeStamper, log } = this.options;
    if (timeStamper === undefined || this.#stamped === writer.size) return;
    await stampHead(log, writer.head, timeStamper);
    this.#stamped = writer.size;
  }

  async #tell(size: number | null): Promise<void> {
    await this.options.onProgress?.({
      size,
      appended: this.#appended,
      waiting: this.#waiting,
      lagMs: Math.round(this.#now() - this.#complete),
      unfit: this.#unfit,
      fault: this.fault?.code ?? null,
    });
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done);
  });
}
