/**
 * Replays histories on one replay worker. Invariant: a history counts as replayed only when the SDK ran the whole of it
 * against today's workflow code; its workflow id goes with it, because histories do not hold one.
 */
import { Worker, type ReplayHistoriesIterable } from '@temporalio/worker';

type History = Parameters<typeof Worker.runReplayHistory>[1];
type Waiting = {
  readonly workflowId: string;
  readonly history: History;
  readonly done: (fault: string | null) => void;
};

export class Replayer {
  private readonly queue: Waiting[] = [];
  private wake: (() => void) | null = null;
  private closing = false;
  private readonly finished: Promise<void>;

  constructor(bundle: string) {
    this.finished = this.run(bundle);
  }

  /** Null, or in one line why the history does not replay. */
  replay(workflowId: string, history: History): Promise<string | null> {
    return new Promise((done) => {
      this.queue.push({ workflowId, history, done });
      this.wake?.();
    });
  }

  async close(): Promise<void> {
    this.closing = true;
    this.wake?.();
    await this.finished;
  }

  private async run(bundle: string): Promise<void> {
    let current: Waiting | null = null;
    const next = async (): Promise<Waiting | null> => {
      while (this.queue.length === 0 && !this.closing) await new Promise<void>((resolve) => (this.wake = resolve));
      return this.queue.shift() ?? null;
    };
    async function* histories(): ReplayHistoriesIterable {
      for (let one = await next(); one !== null; one = await next()) {
        current = one;
        yield { workflowId: one.workflowId, history: one.history };
      }
    }
    const options = { workflowBundle: { codePath: bundle }, replayName: 'kill-matrix' };
    try {
      for await (const { error } of Worker.runReplayHistories(options, histories())) {
        (current as Waiting | null)?.done(error === undefined ? null : error.message);
      }
    } catch (fault) {
      const message = `the replay worker failed: ${String(fault)}`;
      for (const one of [current as Waiting | null, ...this.queue.splice(0)]) one?.done(message);
    }
  }
}
