/**
 * A FHIR R4 server, one resource for each effect, in one of two modes:
 *
 *   put                 `PUT Type/eff-HASH` under an id derived from the key; the look-up is a plain read, and 410 shows that
 *                       the effect was committed and then deleted. A late original may overwrite a later edit.
 *   conditional_create  `POST` with `If-None-Exist` on an identifier; nothing is ever overwritten, but a deleted resource looks
 *                       as if it had never been.
 *
 * An operation is a resource, or `{resource, ifMatch}` for a new version of one that must not have moved. Bundles are not sent.
 *
 * Invariant: a look-up bypasses caches (`no-store`), counts only when the server shows by its self link that it applied the
 * filter, and never picks one of several matches.
 */
import {
  type DispatchOutcome,
  type EffectSink,
  type KeyEnforcement,
  type SinkAnswer,
  type SinkItem,
} from '../../ports';
import {
  digestOf,
  effectResourceId,
  type FhirOperation,
  type FhirResource,
  identify,
  isIdentified,
  isResource,
  keyToken,
  mark,
  marksBelow,
  matchUrl,
  parseFhirOperation,
  versionOf,
} from './fhir-resource';
import { HttpExchange, type HttpReply, jsonObject, retryAfterMs } from './http-exchange';
import { SinkError, type SinkErrorCode } from './sink-error';

export interface FhirSinkOptions {
  /** What errors call this sink. */
  readonly name: string;
  /** The server's base, as in `https://fhir.example.org/r4`. */
  readonly baseUrl: string;
  readonly mode: 'put' | 'conditional_create';
  /** A URI that you own; keys and digests are stored under systems below it. Never change it while plans are open. */
  readonly system: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further headers that are asked for at each call and never kept. */
  readonly credentials?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** Whether a second send under one key is harmless. @default 'always' for conditional_create, 'no' for put */
  readonly enforcesKey?: KeyEnforcement;
  readonly horizonMs?: number;
  /** @default 10000 */
  readonly deadlineMs?: number;
  /** @default 30000 */
  readonly settleMs?: number;
  readonly maxInFlight?: number;
}

const REFUSED = new Set([400, 422]);
const PROBE_TYPE = 'Basic';

/** What a status that is neither success nor refusal means for each way of writing. */
const UNKNOWN: Record<'put' | 'conditional_create' | 'update', Record<number, SinkErrorCode>> = {
  // A lost race: the other request is being carried out, or was.
  put: { 409: 'in_flight', 412: 'in_flight' },
  conditional_create: { 409: 'in_flight', 412: 'several_matches' },
  // Real servers differ in which of the two they answer.
  update: { 409: 'version_conflict', 412: 'version_conflict' },
};

export function fhirSink(options: FhirSinkOptions): EffectSink {
  const { name: sink, mode, deadlineMs = 10_000 } = options;
  const base = options.baseUrl.replace(/\/+$/, '');
  const marks = marksBelow(options.system);
  const http = new HttpExchange({
    maxSockets: Math.max(8, options.maxInFlight ?? 0),
    maxAnswerBytes: 16 * 1024 * 1024,
  });

  async function call(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    key: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
    body?: FhirResource,
  ): Promise<HttpReply | 'not_connected'> {
    let credentials: Readonly<Record<string, string>>;
    try {
      credentials = (await options.credentials?.()) ?? {};
    } catch {
      return 'not_connected'; // The error itself could quote the credential.
    }
    const all = {
      accept: 'application/fhir+json',
      'cache-control': 'no-store',
      ...options.headers,
      ...credentials,
      ...headers,
    };
    const url = new URL(`${base}/${path}`);
    return body === undefined
      ? http.send({ method, url, headers: all }, signal, { sink, key })
      : http.send(
          { method, url, headers: { 'content-type': 'application/fhir+json', ...all }, body: JSON.stringify(body) },
          signal,
          { sink, key },
        );
  }

  async function read(path: string, key: string, signal: AbortSignal, strict = false): Promise<HttpReply> {
    const reply = await call('GET', path, key, signal, strict ? { prefer: 'handling=strict' } : {});
    if (reply === 'not_connected') throw new SinkError('not_reachable', { sink, key });
    return reply;
  }

  const unexpected = (reply: HttpReply, key: string, code: SinkErrorCode = 'unexpected_status'): SinkError =>
    new SinkError(
      reply.status >= 300 && reply.status < 400 ? 'redirect_not_followed' : code,
      { sink, key },
      {
        detail: `status=${reply.status}`,
        retryAfterMs: retryAfterMs(reply),
      },
    );

  const resourceIn = (reply: HttpReply): FhirResource | null => {
    const json = jsonObject(reply);
    return isResource(json) && typeof json.id === 'string' ? json : null;
  };
  const externalIdOf = (resource: FhirResource): string => `${resource.resourceType}/${resource.id}`;

  function committed(resource: FhirResource): SinkAnswer {
    const operationDigest = digestOf(resource, marks);
    if (operationDigest === undefined) return { state: 'unknown' };
    return { state: 'committed', operationDigest, externalId: externalIdOf(resource), result: shown(resource) };
  }

  async function findCreated(item: SinkItem, resource: FhirResource, signal: AbortSignal): Promise<SinkAnswer> {
    const key = item.idempotencyKey;
    const type = resource.resourceType;
    if (mode === 'put') {
      const id = effectResourceId(key);
      const reply = await read(`${type}/${id}`, key, signal);
      const found = resourceIn(reply);
      if (reply.status === 200 && found?.resourceType === type && found.id === id) return committed(found);
      if (reply.status === 404) return { state: 'absent' };
      // The id is made from the key, and the key from the operation, so a deleted resource was this effect.
      if (reply.status === 410) {
        return { state: 'committed', operationDigest: item.operationDigest, externalId: `${type}/${id}` };
      }
      return undecided(reply, key);
    }
    const reply = await read(`${type}?${matchUrl(key, marks)}`, key, signal, true);
    if (reply.status !== 200) return undecided(reply, key);
    const matches = matchesIn(jsonObject(reply), keyToken(key, marks));
    if (!matches || !matches.every((match) => match.resourceType === type && isIdentified(match, key, marks))) {
      return { state: 'unknown' };
    }
    const [only, second] = matches;
    if (second) return { state: 'unknown' };
    return only ? committed(only) : { state: 'absent' };
  }

  async function findUpdated(
    item: SinkItem,
    operation: FhirOperation & { ask: 'update' },
    signal: AbortSignal,
  ): Promise<SinkAnswer> {
    const { resource, ifMatch } = operation;
    const reply = await read(`${resource.resourceType}/${resource.id}`, item.idempotencyKey, signal);
    const found = resourceIn(reply);
    if (reply.status === 404 || reply.status === 410) return { state: 'unknown' };
    if (reply.status !== 200 || !found) return undecided(reply, item.idempotencyKey);
    // Every later version has another id: nothing has been written since the one that the operation was made for.
    if (found.meta?.versionId === versionOf(ifMatch)) return { state: 'absent' };
    return digestOf(found, marks) === item.operationDigest ? committed(found) : { state: 'unknown' };
  }

  function undecided(reply: HttpReply, key: string): SinkAnswer {
    if (reply.status !== 409)
      throw unexpected(reply, key, reply.status === 200 ? 'answer_invalid' : 'unexpected_status');
    const wait = retryAfterMs(reply);
    return wait === undefined ? { state: 'in_flight' } : { state: 'in_flight', retryAfterMs: wait };
  }

  function outcomeOf(reply: HttpReply | 'not_connected', item: SinkItem, way: keyof typeof UNKNOWN): DispatchOutcome {
    if (reply === 'not_connected') return { outcome: 'not_sent' };
    const key = item.idempotencyKey;
    const wait = retryAfterMs(reply);
    if (reply.status === 429) return { outcome: 'not_sent', ...(wait === undefined ? {} : { retryAfterMs: wait }) };
    if (REFUSED.has(reply.status)) return { outcome: 'refused', code: `fhir_${reply.status}` };
    if (reply.status !== 200 && reply.status !== 201) throw unexpected(reply, key, UNKNOWN[way][reply.status]);
    const stored = resourceIn(reply);
    if (!stored) throw new SinkError('answer_invalid', { sink, key });
    if (digestOf(stored, marks) !== item.operationDigest) throw new SinkError('key_reused', { sink, key });
    return { outcome: 'accepted', externalId: externalIdOf(stored), result: shown(stored) };
  }

  async function write(item: SinkItem, operation: FhirOperation, signal: AbortSignal): Promise<DispatchOutcome> {
    const key = item.idempotencyKey;
    const type = operation.resource.resourceType;
    const marked = mark(operation.resource, item, marks);
    const prefer = { prefer: 'return=representation' };
    if (operation.ask === 'update') {
      const headers = { ...prefer, 'if-match': operation.ifMatch };
      return outcomeOf(
        await call('PUT', `${type}/${operation.resource.id}`, key, signal, headers, marked),
        item,
        'update',
      );
    }
    if (mode === 'put') {
      const id = effectResourceId(key);
      // Most servers ignore the condition; one that keeps it also protects later edits.
      const headers = { ...prefer, 'if-none-match': '*' };
      return outcomeOf(await call('PUT', `${type}/${id}`, key, signal, headers, { ...marked, id }), item, 'put');
    }
    const { id: _assigned, ...fresh } = marked;
    const identified = identify(fresh as FhirResource, key, marks);
    if (!identified) return { outcome: 'refused', code: 'type_without_identifier_list' };
    const headers = { ...prefer, 'if-none-exist': matchUrl(key, marks) };
    return outcomeOf(await call('POST', type, key, signal, headers, identified), item, 'conditional_create');
  }

  async function dispatch(item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const operation = parseFhirOperation(item.operation);
    return operation ? write(item, operation, signal) : { outcome: 'refused', code: 'invalid_operation' };
  }

  const observeOne = (item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> | SinkAnswer => {
    const operation = parseFhirOperation(item.operation);
    if (!operation) return { state: 'unknown' };
    return operation.ask === 'update'
      ? findUpdated(item, operation, signal)
      : findCreated(item, operation.resource, signal);
  };

  return {
    kind: 'fhir_write',
    sideEffect: mode === 'put' ? 'idempotent_write' : 'non_idempotent_write',
    lookup: 'authoritative',
    enforcesKey: options.enforcesKey ?? (mode === 'put' ? 'no' : 'always'),
    deadlineMs,
    settleMs: options.settleMs ?? 30_000,
    ...(options.horizonMs === undefined ? {} : { horizonMs: options.horizonMs }),
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),

    observe: (items, { signal }) => Promise.all(items.map((item) => observeOne(item, signal))),

    dispatch: (item, { signal }) => dispatch(item, signal),

    /** Writes one tagged `Basic` resource under a fixed key, so that a server holds at most one for each mode and system. */
    async probe() {
      const key = `self-test-${mode}`;
      const item: SinkItem = {
        toolId: 'self-test',
        actionId: 'self-test',
        idempotencyKey: key,
        operationDigest: '0'.repeat(64),
        operation: { resourceType: PROBE_TYPE, code: { text: 'Countersign start-up self-test' } },
      };
      const failed = (detail: string): SinkError => new SinkError('probe_failed', { sink, key }, { detail });
      const signal = AbortSignal.timeout(deadlineMs);
      let first: string | null | undefined;
      for (const step of ['create', 'first repeat', 'second repeat']) {
        const sent = await dispatch(item, signal).catch((error: SinkError) => {
          throw failed(`step=${step}, found=${error.code}`);
        });
        if (sent.outcome !== 'accepted') throw failed(`step=${step}, found=${sent.outcome}`);
        const found = await observeOne(item, signal);
        if (found.state !== 'committed') throw failed(`step=find after ${step}, found=${found.state}`);
        if (found.operationDigest !== item.operationDigest)
          throw failed(`step=find after ${step}, found=another digest`);
        first ??= sent.externalId;
        if (sent.externalId !== first || found.externalId !== first)
          throw failed(`step=${step}, found=another resource`);
      }
    },
  };
}

/** What of the stored resource is passed on as the result: where it is and which version. */
const shown = (resource: FhirResource): Record<string, unknown> => ({
  reference: `${resource.resourceType}/${resource.id}`,
  ...(resource.meta?.versionId === undefined ? {} : { versionId: resource.meta.versionId }),
});

/** The matches of a complete search answer that shows our filter in its self link, or `null`. */
function matchesIn(bundle: Record<string, unknown> | null, token: string): readonly FhirResource[] | null {
  if (bundle?.['resourceType'] !== 'Bundle' || bundle['type'] !== 'searchset') return null;
  const links = (Array.isArray(bundle['link']) ? bundle['link'] : []) as { relation?: string; url?: string }[];
  const self = links.find(({ relation }) => relation === 'self')?.url;
  const parsed =
    self !== undefined && URL.canParse(self, 'http://base.invalid') ? new URL(self, 'http://base.invalid') : null;
  if (parsed?.searchParams.get('identifier') !== token) return null;
  if (links.some(({ relation }) => relation === 'next')) return null;
  const entries = (bundle['entry'] ?? []) as { resource?: unknown; search?: { mode?: string } }[];
  if (!Array.isArray(entries)) return null;
  const matches = entries.filter(({ search }) => search?.mode !== 'outcome').map(({ resource }) => resource);
  const total = bundle['total'];
  if (!matches.every(isResource) || (typeof total === 'number' && total !== matches.length)) return null;
  return matches;
}
