/**
 * One request to a FHIR server, and what its status means where that is the same for every request.
 *
 * Invariant: no request may be answered from a cache or be the cause of a cached answer (`no-store`): on a real server a search that
 * found nothing was repeated from its cache for a minute.
 */
import { setMaxListeners } from 'node:events';
import { type SinkAnswer } from '../../ports';
import { type FhirResource, isResource, isResourceId, type StoredResource } from './fhir-resource';
import { HttpExchange, type HttpReply, jsonObject, retryAfterMs } from './http-exchange';
import { SinkError, type SinkErrorCode } from './sink-error';

export interface FhirPlace {
  /** What errors call this sink. */
  readonly name: string;
  /** The server's base, as in `https://fhir.example.org/r4`. */
  readonly baseUrl: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further headers that are asked for at each call and never kept. */
  readonly credentials?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  readonly maxInFlight?: number;
}

type Headers = Readonly<Record<string, string>>;

const FHIR_JSON = 'application/fhir+json';
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

export class FhirClient {
  readonly #place: FhirPlace;
  readonly #base: string;
  readonly #http: HttpExchange;

  constructor(place: FhirPlace) {
    this.#place = place;
    this.#base = place.baseUrl.replace(/\/+$/, '');
    this.#http = new HttpExchange({
      maxSockets: Math.max(8, place.maxInFlight ?? 0),
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
  }

  get name(): string {
    return this.#place.name;
  }

  /** `path` is below the base; empty for the base itself. */
  async write(
    method: 'POST' | 'PUT',
    path: string,
    key: string,
    signal: AbortSignal,
    headers: Headers,
    body: FhirResource,
  ): Promise<HttpReply | 'not_connected'> {
    return this.#call(method, path, key, signal, { 'content-type': FHIR_JSON, ...headers }, JSON.stringify(body));
  }

  async read(path: string, key: string, signal: AbortSignal, headers: Headers = {}): Promise<HttpReply> {
    const reply = await this.#call('GET', path, key, signal, headers);
    if (reply === 'not_connected') throw new SinkError('not_reachable', { sink: this.name, key });
    return reply;
  }

  async #call(
    method: string,
    path: string,
    key: string,
    signal: AbortSignal,
    headers: Headers,
    body?: string,
  ): Promise<HttpReply | 'not_connected'> {
    let credentials: Headers;
    try {
      credentials = (await this.#place.credentials?.()) ?? {};
    } catch {
      return 'not_connected'; // The error itself could quote the credential.
    }
    const all = { accept: FHIR_JSON, 'cache-control': 'no-store', ...this.#place.headers, ...credentials, ...headers };
    setMaxListeners(0, signal); // one look-up asks for many resources under one signal
    const url = new URL(path === '' ? this.#base : `${this.#base}/${path}`);
    const request = { method, url, headers: all, ...(body === undefined ? {} : { body }) };
    return this.#http.send(request, signal, { sink: this.name, key });
  }

  /** What is thrown for a status that proves nothing. */
  unexpected(reply: HttpReply, key: string, code: SinkErrorCode = 'unexpected_status'): SinkError {
    return new SinkError(
      reply.status >= 300 && reply.status < 400 ? 'redirect_not_followed' : code,
      { sink: this.name, key },
      { detail: `status=${reply.status}`, retryAfterMs: retryAfterMs(reply) },
    );
  }

  /** What is thrown for the answer of a look-up that says nothing. */
  silent(reply: HttpReply, key: string): SinkError {
    return this.unexpected(reply, key, reply.status === 200 ? 'answer_invalid' : 'unexpected_status');
  }

  /** The answer of a look-up that shows neither what is there nor that nothing is; throws when it says nothing at all. */
  undecided(reply: HttpReply, key: string): SinkAnswer {
    if (reply.status !== 409) throw this.silent(reply, key);
    const wait = retryAfterMs(reply);
    return wait === undefined ? { state: 'in_flight' } : { state: 'in_flight', retryAfterMs: wait };
  }
}

/** Whether a FHIR server said it: what stands before one answers 404 and 410, too, with a page of its own or none. */
export const saidByServer = (reply: HttpReply): boolean => jsonObject(reply)?.['resourceType'] === 'OperationOutcome';

/** The one stored resource that an answer holds, or `null`. */
export const storedIn = (reply: HttpReply): StoredResource | null => asStored(jsonObject(reply));

export const asStored = (value: unknown): StoredResource | null =>
  isResource(value) && isResourceId(value.id) ? { ...value, id: value.id } : null;
