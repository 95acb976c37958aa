/**
 * One call of Stripe's API through Stripe's own library.
 *
 * Invariant: a call is one request. The library sends a request again after ECONNRESET and EPIPE also where its retries are 0
 * (measured with 23.1.0, which calls that "not guaranteed to be a no-op"), so it gets a client that sends once, and what it makes of the answer is not used.
 */
import { type HttpExchange, type HttpReply } from './http-exchange';
import { type SinkErrorContext } from './sink-error';

/** Of the library, what is used here. */
export type StripeLibrary = new (
  key: string,
  options: Readonly<Record<string, unknown>>,
) => {
  rawRequest(method: string, path: string, params: object | null, options: object): Promise<unknown>;
};

/** A server that stands for Stripe in tests; `http` only on this machine. */
export interface StripeServer {
  readonly protocol: 'https' | 'http';
  readonly host: string;
  readonly port: number;
}

export interface StripeCall {
  readonly method: 'GET' | 'POST';
  /** With its query. */
  readonly path: string;
  readonly params: Record<string, unknown> | null;
  readonly idempotencyKey?: string;
}

/** What leaves with a request; the library would also tell what it runs on. */
const HEADERS: ReadonlySet<string> = new Set([
  ...['authorization', 'accept', 'content-type', 'user-agent', 'stripe-version', 'stripe-account', 'idempotency-key'],
]);

export class StripeExchange {
  constructor(
    private readonly Stripe: StripeLibrary,
    private readonly http: HttpExchange,
    private readonly server: StripeServer,
    private readonly options: Readonly<Record<string, unknown>>,
  ) {}

  /** Resolves with the answer, whatever it is, or with why nothing can have left; every other fault is thrown as a `SinkError`. */
  async send(
    apiKey: string,
    call: StripeCall,
    signal: AbortSignal,
    context: SinkErrorContext,
  ): Promise<HttpReply | 'not_connected' | 'not_encodable'> {
    let sent: Promise<HttpReply | 'not_connected'> | null = null;
    const makeRequest = (
      host: string,
      port: string | number,
      path: string,
      method: string,
      headers: Readonly<Record<string, unknown>>,
      body: string,
      protocol: string,
    ): Promise<never> => {
      const kept = Object.entries(headers).filter(([name]) => HEADERS.has(name.toLowerCase()));
      sent ??= this.http.send(
        {
          method,
          url: new URL(`${protocol}://${host}:${port}${path}`),
          headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
          body,
        },
        signal,
        context,
      );
      // Whatever the library is told ends its part; it must be no code after which it tries again.
      return sent.then(() => Promise.reject(new Error('answered')));
    };
    const stripe = new this.Stripe(apiKey, {
      ...this.options,
      ...this.server,
      httpClient: { getClientName: () => 'countersign', makeRequest },
      maxNetworkRetries: 0,
      telemetry: false,
    });
    const { idempotencyKey } = call;
    await stripe
      .rawRequest(call.method, call.path, call.params, idempotencyKey === undefined ? {} : { idempotencyKey })
      .catch(() => undefined); // it could quote the parameters; what counts is the answer itself
    return sent ?? 'not_encodable';
  }
}
