/**
 * The line to a real sink that speaks HTTP. Invariant: only a request that writes is struck; a look-up for the same key passes.
 */
import { HttpFaultProxy, type Passing } from '../../src/testing/conformance/http-fault-proxy';
import { StruckWrites } from './struck-writes';

export interface Line {
  readonly port: number;
  readonly writes: StruckWrites;
  close(): Promise<void>;
}

/** `keyOf` gives the key of a request that writes, and null for every other one. */
export async function openHttpLine(
  name: string,
  target: URL,
  keyOf: (request: Passing) => string | null,
): Promise<Line> {
  const proxy = await HttpFaultProxy.start(target);
  const writes = new StruckWrites(name);
  proxy.begin(async (request, server) => {
    const key = keyOf(request);
    if (key === null) return server(request);
    const settled = writes.begun(key);
    try {
      return await writes.carryOut(key, async () => {
        const reply = await server(request);
        return { reply, committed: reply.status >= 200 && reply.status < 300 };
      });
    } finally {
      settled();
    }
  });
  return {
    port: proxy.port,
    writes,
    close: async () => {
      writes.close();
      await proxy.close();
    },
  };
}
