/**
 * A `fetch` that lets one request leave. Invariant: whatever a client library does with it, a second request is refused before
 * anything of it leaves this process, so retries that nobody turned off, or redirects, cannot pay twice.
 */
export interface GuardedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Requests that were asked for; more than one means that the library tried again. */
  readonly asked: () => number;
  /** Status of the one answer; null while there is none. */
  readonly status: () => number | null;
  /** Rejects when a second request is asked for: nothing more can come of this launch. */
  readonly triedAgain: Promise<never>;
}

export class SecondRequestRefused extends Error {
  override readonly name = 'SecondRequestRefused';
  readonly code = 'second_request_refused';
  constructor() {
    super('second_request_refused: this launch has made its one request; turn the retries of the client library off');
  }
}

export function guardedFetch(signal: AbortSignal, underneath: typeof globalThis.fetch = fetch): GuardedFetch {
  let asked = 0;
  let status: number | null = null;
  let giveUp: (fault: SecondRequestRefused) => void = () => undefined;
  const triedAgain = new Promise<never>((_resolve, reject) => (giveUp = reject));
  triedAgain.catch(() => undefined);
  const guarded: typeof globalThis.fetch = async (input, init) => {
    asked += 1;
    if (asked > 1) {
      const refused = new SecondRequestRefused();
      giveUp(refused);
      throw refused;
    }
    const signals = [signal, ...(init?.signal ? [init.signal] : [])];
    // A redirect is a second request, perhaps to somewhere else.
    const response = await underneath(input, { ...init, signal: AbortSignal.any(signals), redirect: 'manual' });
    status = response.status;
    return response;
  };
  return { fetch: guarded, asked: () => asked, status: () => status, triedAgain };
}
