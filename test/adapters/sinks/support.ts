/** What the sink tests share. */
import type { DispatchOutcome, EffectSink, SinkContext, SinkItem } from '../../../src/ports';

/** Planted in operations, credentials and answers; may stand in no error. */
export const SECRET = 'planted-secret-4711';

let next = 0;

export function makeItem(operation: unknown, over: Partial<SinkItem> = {}): SinkItem {
  return {
    toolId: 'tool:example.org/test@1.0.0',
    actionId: 'action:example.org/test-1',
    idempotencyKey: `key-${++next}`,
    operationDigest: 'a'.repeat(64),
    operation,
    ...over,
  };
}

export const within = (signal: AbortSignal = new AbortController().signal): SinkContext => ({
  signal,
  deadlineMs: 10_000,
});

/** The outcome of a send, or the code of the error that makes it unknown. Fails when the error tells anything planted. */
export async function sendAndTell(
  sink: EffectSink,
  item: SinkItem,
  signal?: AbortSignal,
): Promise<DispatchOutcome | string> {
  try {
    return await sink.dispatch(item, within(signal));
  } catch (error) {
    return codeOf(error);
  }
}

export function codeOf(error: unknown): string {
  const { code, stack, cause } = error as Error & { code: string };
  if (`${stack} ${JSON.stringify(error)} ${String(cause)}`.includes(SECRET)) throw new Error('the error tells content');
  return code;
}
