/**
 * A small FHIR R4 server for tests and demos, in memory, with programmed faults and counts by idempotency key.
 *
 * Invariant: it answers as a careful server does where the embedded router does not: `Location`, `ETag` and self link are there,
 * an unknown search parameter is refused under `handling=strict`, an identical `PUT` makes no version, a deleted resource is 410.
 *
 * It offers create (with `If-None-Exist`), update (with `If-Match`), read, search with GET, delete, and transactions of creates and
 * updates, below `/fhir`. The key of a write is the code of its `…/idempotency-key` tag, of a transaction that of its first entry
 * without the number; of a look-up, what it searches for, or what wrote the id that it reads.
 */
import type { Bundle, BundleEntry, OperationOutcome, Resource } from '@medplum/fhirtypes';
import { type EmbeddedFhir, startEmbeddedFhir } from './fhir-repository';
import {
  type Distortions,
  type HttpAnswer,
  type SinkRequest,
  type SinkServer,
  type SinkServerOptions,
  startSinkServer,
  type WriteDone,
} from './sink-server';

/** A FHIR server in this process that counts what is written under each key. */
export interface FhirServer extends SinkServer {
  /** The FHIR base: `url` + `/fhir`. */
  readonly baseUrl: string;
}

/** Where it listens and what it does wrong. */
export interface FhirServerOptions extends SinkServerOptions {
  /** Left out, identifier searches find nothing, as in a router that was not told the definitions. @default true */
  readonly withDefinitions?: boolean;
  /** Left out, a transaction is carried out as far as it goes, as the bare router does it. @default true */
  readonly wholeTransactions?: boolean;
}

const KEY_SYSTEM = /\/idempotency-key$/;
const DIGEST_SYSTEM = /\/operation-digest$/;
const OTHER_DIGEST = '0'.repeat(64);

type Headers = Record<string, string>;

const outcome = (
  status: number,
  code: 'invalid' | 'not-supported' | 'not-found' | 'deleted' | 'conflict',
): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/fhir+json' },
  body: { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code }] } satisfies OperationOutcome,
});

const keyOf = (resource: Resource): string | undefined =>
  resource.meta?.tag?.find(({ system }) => KEY_SYSTEM.test(system ?? ''))?.code;

/** What two versions differ in, apart from what the server assigns. */
function substance(resource: Resource): string {
  const { versionId: _version, lastUpdated: _updated, ...meta } = resource.meta ?? {};
  const sorted = (value: unknown): unknown =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? Array.isArray(value)
        ? value.map(sorted)
        : value
      : Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, inner]) => [name, sorted(inner)]),
        );
  return JSON.stringify(sorted({ ...resource, meta }));
}

class FhirShell {
  readonly #deleted = new Set<string>();
  readonly #keys = new Map<string, string>();
  readonly #writtenAt = new Map<string, number>();

  constructor(
    readonly fhir: EmbeddedFhir,
    readonly base: () => string,
    readonly wholeTransactions: boolean,
  ) {}

  #answer(status: number, resource: Resource): HttpAnswer {
    const version = resource.meta?.versionId ?? '';
    const headers: Headers = { 'content-type': 'application/fhir+json' };
    if (resource.resourceType !== 'OperationOutcome' && resource.id) {
      headers['etag'] = `W/"${version}"`;
      if (status === 201) {
        headers['location'] = `${this.base()}/${resource.resourceType}/${resource.id}/_history/${version}`;
      }
    }
    return { status, headers, body: resource };
  }

  async #ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    headers: Headers = {},
    body?: unknown,
  ): Promise<HttpAnswer> {
    const [said, resource] = await this.fhir.handle({ method, url, headers, body });
    return this.#answer(this.fhir.statusOf(said), resource ?? said);
  }

  #wrote(resource: Resource, key: string): void {
    const name = `${resource.resourceType}/${resource.id}`;
    this.#keys.set(name, key);
    this.#writtenAt.set(name, performance.now());
    this.#deleted.delete(name);
  }

  #unknownParameters(type: string, query: URLSearchParams): string[] {
    return [...query.keys()].filter((name) => !this.fhir.knowsParameter(type, name));
  }

  async create(request: SinkRequest, type: string, resource: Resource): Promise<void> {
    const ifNoneExist = request.headers['if-none-exist'];
    if (typeof ifNoneExist === 'string' && this.#unknownParameters(type, new URLSearchParams(ifNoneExist)).length > 0) {
      return request.answer(outcome(400, 'invalid'));
    }
    const key = keyOf(resource) ?? '-';
    return request.write(type, key, async (): Promise<WriteDone> => {
      const answer = await this.#ask(
        'POST',
        type,
        ifNoneExist ? { 'if-none-exist': String(ifNoneExist) } : {},
        resource,
      );
      if (answer.status !== 201) return { event: answer.status === 200 ? 'replayed' : 'refused', answer };
      this.#wrote(answer.body as Resource, key);
      return { event: 'committed', answer };
    });
  }

  async update(request: SinkRequest, type: string, id: string, resource: Resource): Promise<void> {
    const key = keyOf(resource) ?? '-';
    const ifMatch = request.headers['if-match'];
    const commit = async (): Promise<WriteDone> => {
      const current = await this.#ask('GET', `${type}/${id}`);
      const before = current.status === 200 ? (current.body as Resource) : undefined;
      if (before && substance(before) === substance(resource) && !ifMatch)
        return { event: 'replayed', answer: current };
      const answer = await this.#ask('PUT', `${type}/${id}`, ifMatch ? { 'if-match': ifMatch } : {}, resource);
      if (answer.status >= 300) return { event: 'refused', answer };
      this.#wrote(answer.body as Resource, key);
      return { event: 'committed', answer: this.#answer(before ? 200 : 201, answer.body as Resource) };
    };
    return request.write(type, key, () => this.fhir.exclusive(commit));
  }

  async transaction(request: SinkRequest, bundle: Bundle): Promise<void> {
    const entries = bundle.entry ?? [];
    const [first] = entries;
    const key = (first?.resource && keyOf(first.resource))?.replace(/\.\d+$/, '') ?? '-';
    const commit = async (): Promise<WriteDone> => {
      const obstacle = this.wholeTransactions ? await this.#obstacle(entries) : null;
      if (obstacle) return { event: 'refused', answer: obstacle };
      const before = await Promise.all(entries.map((entry) => this.#isThere(entry)));
      const answer = await this.#ask('POST', '', {}, bundle);
      const done = ((answer.body as Bundle).entry ?? []).filter(
        ({ resource }, index) => resource && (!before[index] || entries[index]?.request?.ifMatch !== undefined),
      );
      for (const { resource } of done) if (resource) this.#wrote(resource, keyOf(resource) ?? key);
      return { event: done.length > 0 ? 'committed' : 'replayed', answer: { ...answer, status: 200 } };
    };
    return request.write('Bundle', key, () => this.fhir.exclusive(commit));
  }

  /** Whether there is already what an entry would create. */
  async #isThere({ resource, request }: BundleEntry): Promise<boolean> {
    if (request?.ifNoneExist === undefined) return (await this.#ask('GET', String(request?.url))).status === 200;
    const { body } = await this.#ask('GET', `${resource?.resourceType}?${request.ifNoneExist}`);
    return ((body as Bundle).entry ?? []).length > 0;
  }

  /** Why the entries cannot all be carried out: a condition that more than one resource meets, or a version that has moved. */
  async #obstacle(entries: readonly BundleEntry[]): Promise<HttpAnswer | null> {
    for (const { resource, request } of entries) {
      const { ifNoneExist, ifMatch, url } = request ?? {};
      if (ifNoneExist !== undefined) {
        const { body } = await this.#ask('GET', `${resource?.resourceType}?${ifNoneExist}`);
        if (((body as Bundle).entry ?? []).length > 1) return outcome(412, 'conflict');
      }
      if (ifMatch !== undefined) {
        const { body } = await this.#ask('GET', String(url));
        if (ifMatch !== `W/"${(body as Resource).meta?.versionId}"`) return outcome(412, 'conflict');
      }
    }
    return null;
  }

  async read(request: SinkRequest, type: string, id: string): Promise<void> {
    const name = `${type}/${id}`;
    const key = this.#keys.get(name) ?? id;
    return request.lookup(type, [key], async (distortions) => {
      const fault = distortions.get(key);
      if (fault?.fault === 'in_flight') return outcome(409, 'conflict');
      if (fault?.fault === 'stale_lookup' && this.#age(name) < (fault.delayMs ?? 0)) return outcome(404, 'not-found');
      if (this.#deleted.has(name)) return outcome(410, 'deleted');
      const answer = await this.#ask('GET', name);
      return fault?.fault === 'wrong_digest' ? { ...answer, body: misread(answer.body as Resource) } : answer;
    });
  }

  async search(request: SinkRequest, type: string): Promise<void> {
    const query = request.url.searchParams;
    const unknown = this.#unknownParameters(type, query);
    if (unknown.length > 0 && /handling=strict/.test(String(request.headers['prefer']))) {
      return request.answer(outcome(400, 'invalid'));
    }
    for (const name of unknown) query.delete(name);
    const key = query.get('identifier')?.split('|')[1] ?? '-';
    return request.lookup(type, [key], async (distortions: Distortions) => {
      const fault = distortions.get(key);
      if (fault?.fault === 'in_flight') return outcome(409, 'conflict');
      const used = fault?.fault === 'drop_filter' ? new URLSearchParams() : query;
      const answer = await this.#ask('GET', `${type}?${used.toString()}`);
      const bundle = answer.body as { entry?: { resource: Resource }[]; total?: number };
      let entries = bundle.entry ?? [];
      if (fault?.fault === 'stale_lookup') {
        entries = entries.filter(({ resource }) => this.#age(`${type}/${resource.id}`) >= (fault.delayMs ?? 0));
      }
      if (fault?.fault === 'wrong_digest') entries = entries.map(({ resource }) => ({ resource: misread(resource) }));
      const hidden = (bundle.entry?.length ?? 0) - entries.length;
      const link = [{ relation: 'self', url: `${this.base()}/${type}?${used.toString()}` }];
      return { ...answer, body: { ...bundle, total: (bundle.total ?? 0) - hidden, link, entry: entries } };
    });
  }

  async delete(request: SinkRequest, type: string, id: string): Promise<void> {
    const answer = await this.#ask('DELETE', `${type}/${id}`);
    if (answer.status === 200) this.#deleted.add(`${type}/${id}`);
    request.answer(answer);
  }

  #age(name: string): number {
    return performance.now() - (this.#writtenAt.get(name) ?? -Infinity);
  }
}

function misread(resource: Resource): Resource {
  const tag = resource.meta?.tag?.map((one) =>
    DIGEST_SYSTEM.test(one.system ?? '') ? { ...one, code: OTHER_DIGEST } : one,
  );
  return { ...resource, meta: { ...resource.meta, ...(tag ? { tag } : {}) } } as Resource;
}

function parseResource(body: Buffer): Resource | null {
  try {
    const value = JSON.parse(body.toString('utf8')) as Resource | null;
    return typeof value?.resourceType === 'string' ? value : null;
  } catch {
    return null;
  }
}

const CAPABILITIES = {
  resourceType: 'CapabilityStatement',
  status: 'active',
  kind: 'instance',
  fhirVersion: '4.0.1',
  format: ['json'],
  rest: [{ mode: 'server' }],
};

/** Starts it on 127.0.0.1, on a free port unless one is given. */
export async function startFhirServer(options: FhirServerOptions = {}): Promise<FhirServer> {
  const fhir = startEmbeddedFhir({ withDefinitions: options.withDefinitions ?? true });
  let base = '';
  const shell = new FhirShell(fhir, () => base, options.wholeTransactions ?? true);

  const server = await startSinkServer(async (request) => {
    const [, root, type, id, ...more] = request.url.pathname.split('/').map(decodeURIComponent);
    if (root === 'fhir' && !type && request.method === 'POST') {
      const bundle = parseResource(request.body);
      const isTransaction = bundle?.resourceType === 'Bundle' && bundle.type === 'transaction';
      return isTransaction ? shell.transaction(request, bundle) : request.answer(outcome(400, 'invalid'));
    }
    if (root !== 'fhir' || !type || more.length > 0) return request.answer(outcome(404, 'not-supported'));
    if (type === 'metadata') return request.answer({ status: 200, body: CAPABILITIES });
    const { method } = request;
    if (method === 'GET') return id ? shell.read(request, type, id) : shell.search(request, type);
    if (method === 'DELETE' && id) return shell.delete(request, type, id);
    const resource = parseResource(request.body);
    if (resource?.resourceType !== type) return request.answer(outcome(400, 'invalid'));
    if (method === 'POST' && !id) return shell.create(request, type, resource);
    if (method === 'PUT' && id && resource.id === id) return shell.update(request, type, id, resource);
    return request.answer(outcome(400, 'invalid'));
  }, options);
  base = `${server.url}/fhir`;
  return { ...server, baseUrl: base };
}
