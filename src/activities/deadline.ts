/**
 * A call with a deadline. Invariant: the caller gets an answer at the deadline whatever the callee does, and the callee's
 * late result or failure is dropped, never mistaken for an outcome.
 */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

export async function withDeadline<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => {
        const fault = new DeadlineExceeded('the call did not end before its deadline');
        reject(fault);
        controller.abort(fault);
      },
      Math.max(0, ms),
    );
  });
  try {
    const running = call(controller.signal);
    running.catch(() => undefined);
    return await Promise.race([running, expired]);
  } finally {
    clearTimeout(timer);
  }
}
