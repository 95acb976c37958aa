/**
 * A launch that is one call of a model, made by a client library of the caller's. Invariant: at most one request leaves for a
 * launch, whatever the library is set to: it is made anew with `maxRetries: 0` and over a `fetch` that lets one request through;
 * a library that keeps its retries, or brings a transport of its own without saying that it has none, is refused.
 */
import type { Launcher, LaunchJob } from '../../ports';
import { guardedFetch } from './guarded-fetch';
import { isRefusing } from './refusing-status';

/** What a client library has to be made with. */
export interface ForcedClientOptions {
  readonly maxRetries: 0;
  readonly fetch: typeof globalThis.fetch;
}

export interface ModelLauncherOptions<Client> {
  /** Makes the client, as in `(forced) => new OpenAI({ apiKey, ...forced })`. Called once for each launch. */
  readonly client: (forced: ForcedClientOptions) => Client;
  /** Makes the one call. What it answers, as JSON, is submitted. Pass `signal` on. */
  readonly call: (client: Client, request: ModelRequest) => Promise<unknown>;
  /**
   * How many retries the made client has; anything but 0 is refused before a request. A client that does not use the given
   * `fetch` must say it. @default the client's own `maxRetries`, where it has one
   */
  readonly retriesOf?: (client: Client) => number;
  /** Longest time of the call with everything around it, in milliseconds. @default 120000 */
  readonly deadlineMs?: number;
}

export interface ModelRequest {
  readonly job: LaunchJob;
  /** Content: what was authorized. */
  readonly context: unknown;
  readonly signal: AbortSignal;
}

export function modelLauncher<Client>(options: ModelLauncherOptions<Client>): Launcher {
  const { deadlineMs = 120_000 } = options;
  return {
    deadlineMs,
    async launch(job, { door, signal }) {
      const context = await door.fetchContext();
      const guard = guardedFetch(signal);
      const client = options.client({ maxRetries: 0, fetch: guard.fetch });
      const retries = options.retriesOf === undefined ? ownRetries(client) : options.retriesOf(client);
      if (retries !== null && retries !== 0) return { outcome: 'refused', code: 'client_retries_left_on' };
      let output: unknown;
      try {
        const called = options.call(client, { job, context, signal });
        called.catch(() => undefined);
        // A library that tries again may go on to do so for minutes.
        output = await Promise.race([called, guard.triedAgain]);
      } catch (fault) {
        // Any other failure may have been paid for.
        const status = guard.status();
        if (guard.asked() > 0 && status !== null && isRefusing(status)) {
          return { outcome: 'refused', code: `http_${status}` };
        }
        throw fault;
      }
      // It answered by a way that nobody watched: how many requests that took cannot be told.
      if (guard.asked() === 0 && retries === null) throw new UnguardedClient();
      const answer = await door.submit(output);
      if (!answer.taken) throw new Error(`${answer.code}: the submission of this launch was refused`);
      return { outcome: 'started' };
    },
  };
}

export class UnguardedClient extends Error {
  override readonly name = 'UnguardedClient';
  readonly code = 'client_unguarded';
  constructor() {
    super(
      'client_unguarded: the client did not use the given "fetch", so its requests cannot be counted; give it "fetch", or say with "retriesOf" that it never retries',
    );
  }
}

function ownRetries(client: unknown): number | null {
  if (typeof client !== 'object' || client === null) return null;
  const { maxRetries } = client as { maxRetries?: unknown };
  return typeof maxRetries === 'number' ? maxRetries : null;
}
