/**
 * What a FHIR server holds of an effect.
 *
 * Invariant: a search counts only when the server shows by its self link that it applied the filter, and nothing there only when it says
 * so in FHIR; it never picks one of several
 * matches; and of a transaction it says committed only when every entry is there, absent only when none is.
 */
import { type SinkAnswer, type SinkItem } from '../../ports';
import { asStored, type FhirClient, saidByServer, storedIn } from './fhir-client';
import { entryItem, type FhirOperation, type FhirStep, versionOf } from './fhir-operation';
import {
  digestsOf,
  type EffectMarks,
  effectResourceId,
  type FhirResource,
  isIdentifiable,
  isIdentified,
  isResource,
  keyToken,
  matchUrl,
  referenceTo,
  type StoredResource,
} from './fhir-resource';
import { jsonObject } from './http-exchange';

export type FhirMode = 'put' | 'conditional_create';

/** What of a stored resource is passed on as the result: where it is and which version. */
export const shown = (resource: StoredResource): Record<string, unknown> => ({
  reference: referenceTo(resource),
  ...(resource.meta?.versionId === undefined ? {} : { versionId: resource.meta.versionId }),
});

export class FhirLookUp {
  constructor(
    readonly client: FhirClient,
    readonly mode: FhirMode,
    readonly marks: EffectMarks,
  ) {}

  async find(operation: FhirOperation, item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    if (operation.ask !== 'transaction') return this.findStep(operation, item, signal);
    const answers = operation.entries.map(({ step }, index) => this.findStep(step, entryItem(item, index), signal));
    return together(await Promise.all(answers), item);
  }

  async findStep(step: FhirStep, item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    if (step.ask === 'update') return this.#findUpdated(step, item, signal);
    return this.mode === 'put'
      ? this.#findPut(step.resource.resourceType, item, signal)
      : this.#findCreated(step.resource, item, signal);
  }

  async #findPut(type: string, item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    const key = item.idempotencyKey;
    const id = effectResourceId(key);
    const reply = await this.client.read(`${type}/${id}`, key, signal);
    const found = storedIn(reply);
    if (reply.status === 200 && found?.resourceType === type && found.id === id) {
      return this.#judge(found, item, signal);
    }
    if (reply.status === 404 && saidByServer(reply)) return { state: 'absent' };
    if (reply.status !== 410 || !saidByServer(reply)) return this.client.undecided(reply, key);
    const earlier = await this.#earlierDigests(`${type}/${id}`, key, signal);
    // Where no history is told, the id speaks: it is made from the key, and the key from the operation.
    const digest = earlier === null ? item.operationDigest : ours(item, earlier);
    return committed(digest, { externalId: `${type}/${id}` });
  }

  async #findCreated(resource: FhirResource, item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    if (!isIdentifiable(resource)) return { state: 'absent' }; // It is never sent.
    const key = item.idempotencyKey;
    const type = resource.resourceType;
    const strict = { prefer: 'handling=strict' };
    const reply = await this.client.read(`${type}?${matchUrl(key, this.marks)}`, key, signal, strict);
    if (reply.status !== 200) return this.client.undecided(reply, key);
    const matches = matchesIn(jsonObject(reply), keyToken(key, this.marks));
    if (!matches?.every((match) => match.resourceType === type && isIdentified(match, key, this.marks))) {
      return { state: 'unknown' };
    }
    const [only, second] = matches;
    if (second) return { state: 'unknown' };
    return only ? this.#judge(only, item, signal) : { state: 'absent' };
  }

  async #findUpdated(step: FhirStep & { ask: 'update' }, item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    const key = item.idempotencyKey;
    const reference = referenceTo(step.resource);
    const reply = await this.client.read(reference, key, signal);
    const found = storedIn(reply);
    const gone = reply.status === 404 || reply.status === 410;
    if (!gone && (reply.status !== 200 || !found)) return this.client.undecided(reply, key);
    // Every later version has another id: nothing has been written since the one that the operation was made for.
    if (found && !gone && found.meta?.versionId === versionOf(step.ifMatch)) return { state: 'absent' };
    const here = found && !gone ? digestsOf(found, this.marks) : [];
    const all = here.includes(item.operationDigest) ? here : await this.#earlierDigests(reference, key, signal);
    if (!all?.includes(item.operationDigest)) return { state: 'unknown' };
    return committed(item.operationDigest, {
      externalId: reference,
      ...(found && !gone ? { result: shown(found) } : {}),
    });
  }

  /** Edits by others may have taken our digest away; then earlier versions tell. */
  async #judge(found: StoredResource, item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    const told = { externalId: referenceTo(found), result: shown(found) };
    const here = digestsOf(found, this.marks);
    if (here.includes(item.operationDigest)) return committed(item.operationDigest, told);
    const earlier = (await this.#earlierDigests(referenceTo(found), item.idempotencyKey, signal)) ?? [];
    return committed(ours(item, [...here, ...earlier]), told);
  }

  /** The digests in the history of a resource; `null` where the server tells none. */
  async #earlierDigests(reference: string, key: string, signal: AbortSignal): Promise<readonly string[] | null> {
    const reply = await this.client.read(`${reference}/_history`, key, signal);
    if (NO_HISTORY.has(reply.status)) return null;
    const bundle = reply.status === 200 ? jsonObject(reply) : null;
    if (bundle?.['type'] !== 'history') throw this.client.silent(reply, key);
    const entries = (bundle['entry'] ?? []) as { resource?: unknown }[];
    return entries.flatMap(({ resource }) => (isResource(resource) ? digestsOf(resource, this.marks) : []));
  }
}

const NO_HISTORY = new Set([400, 401, 403, 404, 405, 410, 501]);

/** Our digest if it is among them, else another that is. */
const ours = (item: SinkItem, digests: readonly string[]): string | undefined =>
  digests.includes(item.operationDigest) ? item.operationDigest : digests[0];

const committed = (
  operationDigest: string | undefined,
  told: { externalId: string; result?: Record<string, unknown> },
): SinkAnswer =>
  operationDigest === undefined ? { state: 'unknown' } : { state: 'committed', operationDigest, ...told };

/** One answer for all entries of a transaction. Its name is that of the first entry. */
function together(answers: readonly SinkAnswer[], item: SinkItem): SinkAnswer {
  const running = answers.filter((answer) => answer.state === 'in_flight');
  if (running.length > 0) {
    const wait = Math.max(...running.map(({ retryAfterMs = 0 }) => retryAfterMs));
    return wait > 0 ? { state: 'in_flight', retryAfterMs: wait } : { state: 'in_flight' };
  }
  if (answers.every(({ state }) => state === 'absent')) return { state: 'absent' };
  const found = answers.filter((answer) => answer.state === 'committed');
  const [first] = found;
  if (!first || found.length < answers.length) return { state: 'unknown' };
  const other = found.find(({ operationDigest }) => operationDigest !== item.operationDigest);
  const { operationDigest } = other ?? first;
  return {
    state: 'committed',
    operationDigest,
    externalId: first.externalId,
    result: { entries: found.map(({ externalId, result }) => result ?? { reference: externalId }) },
  };
}

/** The matches of a complete search answer that shows our filter in its self link, or `null`. */
function matchesIn(bundle: Record<string, unknown> | null, token: string): readonly StoredResource[] | null {
  if (bundle?.['resourceType'] !== 'Bundle' || bundle['type'] !== 'searchset') return null;
  const links = (Array.isArray(bundle['link']) ? bundle['link'] : []) as { relation?: string; url?: string }[];
  const self = links.find(({ relation }) => relation === 'self')?.url;
  const parsed =
    self !== undefined && URL.canParse(self, 'http://base.invalid') ? new URL(self, 'http://base.invalid') : null;
  if (parsed?.searchParams.get('identifier') !== token) return null;
  if (links.some(({ relation }) => relation === 'next')) return null;
  const entries = (bundle['entry'] ?? []) as { resource?: unknown; search?: { mode?: string } }[];
  if (!Array.isArray(entries)) return null;
  const found = entries.filter(({ search }) => search?.mode !== 'outcome').map(({ resource }) => asStored(resource));
  const matches = found.filter((match) => match !== null);
  const total = bundle['total'];
  if (matches.length < found.length || (typeof total === 'number' && total !== matches.length)) return null;
  return matches;
}
