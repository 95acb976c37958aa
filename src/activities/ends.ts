/**
 * The ends of a batch that nothing rests on, as their effects were seen in the sink. Invariant: none is forgotten: each is written
 * with the next slot, or is handed to whoever closes the batch; one whose write is in doubt is handed over as well.
 */
import type { Engine } from './engine';
import type { Owed } from './entries';

export class Ends {
  private readonly making: Promise<void>[] = [];
  private readonly unwritten = new Set<Owed>();

  constructor(private readonly engine: Engine) {}

  add(end: Promise<Owed>): void {
    const made = end.then((owed) => void this.unwritten.add(owed));
    // Its failure is reported where it is awaited, not as an unhandled one meanwhile.
    made.catch(() => undefined);
    this.making.push(made);
  }

  /** Lets `write` write those that are known by now. */
  async writeWith<T>(write: (owed: readonly Owed[]) => Promise<T>): Promise<T> {
    const owed = [...this.unwritten];
    this.unwritten.clear();
    try {
      const answer = await write(owed);
      for (const { written } of owed) if (written !== undefined) await this.engine.at?.(written);
      return answer;
    } catch (fault) {
      for (const end of owed) this.unwritten.add(end);
      throw fault;
    }
  }

  /** What nobody has written, and the first failure to make one. */
  async rest(): Promise<{ readonly owed: readonly Owed[]; readonly failure: PromiseRejectedResult | undefined }> {
    const made = await Promise.allSettled(this.making);
    const failure = made.find((one) => one.status === 'rejected');
    return { owed: [...this.unwritten], failure };
  }
}
