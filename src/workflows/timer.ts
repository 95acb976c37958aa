/** A durable timer that ends early when somebody speaks. Invariant: no cancellation of the workflow ends it, and none outlives it. */
import { CancellationScope, condition, sleep } from '@temporalio/workflow';

/**
 * Answers what has passed, by the time of the server: were that lost when somebody speaks, whoever asks often enough would make a
 * plan wait for ever.
 */
export async function sleepUnless(spoken: () => boolean, ms: number): Promise<number> {
  const since = Date.now();
  return CancellationScope.nonCancellable(async () => {
    const timer = new CancellationScope({ cancellable: true });
    const slept = timer
      .run(() => sleep(ms))
      .then(
        () => true,
        () => false,
      );
    const over = await Promise.race([slept, condition(spoken).then(() => false)]);
    if (over) return ms;
    timer.cancel();
    return Math.min(ms, Math.max(0, Date.now() - since));
  });
}
