/**
 * Telling open pages that what they show has changed. Invariant: only a digest is told, never what changed, so a page fetches itself anew
 * and what it then shows was rendered and escaped like the first time.
 */
import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Live, Seen } from './live';

/** How soon a browser asks again after it lost us, in milliseconds. */
const RETRY_MS = 1_000;
const HEARTBEAT_MS = 10_000;
/** One more is told to try again. */
const MOST_OPEN = 128;

export class OpenPages {
  private open = 0;

  /** `textOf`: all that the page shows, in a text of any form. */
  tell<T>(c: Context, live: Live<T>, textOf: (seen: Seen<T>) => string): Response | Promise<Response> {
    if (c.req.method === 'HEAD') return c.body(null); // nobody reads what would follow
    if (this.open >= MOST_OPEN) return c.text('too_many_open\n', 503);
    this.open += 1;
    return streamSSE(c, async (stream) => {
      let told = '';
      const unwatch = live.watch((seen) => {
        const digest = createHash('sha256')
          .update(seen === null ? '' : textOf(seen))
          .digest('hex');
        if (digest !== told) void stream.writeSSE({ data: digest, retry: RETRY_MS });
        told = digest;
      });
      const heartbeat = setInterval(() => void stream.write(': still here\n\n'), HEARTBEAT_MS);
      await new Promise<void>((resolve) => stream.onAbort(resolve));
      clearInterval(heartbeat);
      unwatch();
      this.open -= 1;
    });
  }
}
