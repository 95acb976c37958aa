/**
 * One send to a FHIR server, and what its answer means.
 *
 * Invariant: `accepted` is said only when the answer shows every resource with our digest; `refused` only for a status by which
 * a server says that it judged the request and keeps nothing of it.
 */
import { type DispatchOutcome, type SinkItem } from '../../ports';
import { asStored, type FhirClient, storedIn } from './fhir-client';
import { type FhirMode, shown } from './fhir-look-up';
import { entryItem, type FhirOperation, type FhirRefusal, type FhirStep, type FhirTransaction } from './fhir-operation';
import {
  digestsOf,
  type EffectMarks,
  effectResourceId,
  type FhirResource,
  identify,
  isIdentifiable,
  mark,
  matchUrl,
  referenceTo,
  type StoredResource,
  unmarked,
} from './fhir-resource';
import { type HttpReply, jsonObject, retryAfterMs } from './http-exchange';
import { SinkError, type SinkErrorCode } from './sink-error';

type Way = FhirMode | 'update' | 'transaction';

const REFUSED = new Set([400, 422]);

/** What a status that is neither success nor refusal means for each way of writing. */
const UNKNOWN: Record<Way, Record<number, SinkErrorCode>> = {
  // A lost race: the other request is being carried out, or was.
  put: { 409: 'in_flight', 412: 'in_flight' },
  conditional_create: { 409: 'in_flight', 412: 'several_matches' },
  // Real servers differ in which of the two they answer.
  update: { 409: 'version_conflict', 412: 'version_conflict' },
  // A lost race of its creates, or a version of its updates that has moved; the look-up tells which.
  transaction: { 409: 'in_flight', 412: 'in_flight' },
};

/** One write, before it is known whether it goes alone or in a transaction. */
interface PlannedWrite {
  readonly way: FhirMode | 'update';
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly condition: { readonly ifMatch?: string; readonly ifNoneExist?: string };
  readonly body: FhirResource;
}

export class FhirWriter {
  constructor(
    readonly client: FhirClient,
    readonly mode: FhirMode,
    readonly marks: EffectMarks,
  ) {}

  async send(operation: FhirOperation, item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    return operation.ask === 'transaction'
      ? this.#sendTransaction(operation, item, signal)
      : this.#sendStep(operation, item, signal);
  }

  async #sendStep(step: FhirStep, item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const write = this.#plan(step, item);
    if (typeof write === 'string') return { outcome: 'refused', code: write };
    const { way, method, path, condition, body } = write;
    const headers = {
      prefer: 'return=representation',
      ...(condition.ifMatch === undefined ? {} : { 'if-match': condition.ifMatch }),
      ...(condition.ifNoneExist === undefined ? {} : { 'if-none-exist': condition.ifNoneExist }),
      // Most servers ignore this one; one that keeps it also protects later edits.
      ...(way === 'put' ? { 'if-none-match': '*' } : {}),
    };
    const reply = await this.client.write(method, path, item.idempotencyKey, signal, headers, body);
    return this.#told(reply, item, way) ?? this.#acceptOne(reply as HttpReply, item);
  }

  async #sendTransaction(transaction: FhirTransaction, item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const entry = [];
    for (const [index, { given, step }] of transaction.entries.entries()) {
      const write = this.#plan(step, entryItem(item, index));
      if (typeof write === 'string') return { outcome: 'refused', code: write };
      const { method, path, condition, body } = write;
      entry.push({ ...given, resource: body, request: { method, url: path, ...condition } });
    }
    const headers = { prefer: 'return=representation' };
    const body = { ...transaction.bundle, entry };
    const reply = await this.client.write('POST', '', item.idempotencyKey, signal, headers, body);
    return this.#told(reply, item, 'transaction') ?? this.#acceptAll(reply as HttpReply, entry.length, item);
  }

  #plan(step: FhirStep, item: SinkItem): PlannedWrite | FhirRefusal {
    const key = item.idempotencyKey;
    const type = step.resource.resourceType;
    if (step.ask === 'update') {
      // The marks of whoever wrote it before stay: they are what their look-ups find.
      const body = mark(step.resource, item, this.marks);
      return {
        way: 'update',
        method: 'PUT',
        path: referenceTo(step.resource),
        condition: { ifMatch: step.ifMatch },
        body,
      };
    }
    const { id: _given, ...fresh } = mark(unmarked(step.resource, this.marks), item, this.marks);
    if (this.mode === 'put') {
      const id = effectResourceId(key);
      return {
        way: 'put',
        method: 'PUT',
        path: `${type}/${id}`,
        condition: {},
        body: { ...fresh, id } as FhirResource,
      };
    }
    if (!isIdentifiable(step.resource)) return 'type_without_identifier_list';
    return {
      way: 'conditional_create',
      method: 'POST',
      path: type,
      condition: { ifNoneExist: matchUrl(key, this.marks) },
      body: identify(fresh as FhirResource, key, this.marks),
    };
  }

  /** The outcome of an answer that is no success; throws when it is unknown, `null` for a success. */
  #told(reply: HttpReply | 'not_connected', item: SinkItem, way: Way): DispatchOutcome | null {
    if (reply === 'not_connected') return { outcome: 'not_sent' };
    const { status } = reply;
    const wait = retryAfterMs(reply);
    if (status === 429) return { outcome: 'not_sent', ...(wait === undefined ? {} : { retryAfterMs: wait }) };
    if (REFUSED.has(status)) return { outcome: 'refused', code: `fhir_${status}` };
    if (status !== 200 && status !== 201)
      throw this.client.unexpected(reply, item.idempotencyKey, UNKNOWN[way][status]);
    return null;
  }

  #acceptOne(reply: HttpReply, item: SinkItem): DispatchOutcome {
    const stored = storedIn(reply);
    if (!stored) throw this.#fault('answer_invalid', item);
    this.#requireOurs(stored, item);
    return { outcome: 'accepted', externalId: referenceTo(stored), result: shown(stored) };
  }

  #acceptAll(reply: HttpReply, count: number, item: SinkItem): DispatchOutcome {
    const bundle = jsonObject(reply);
    const entries = bundle?.['entry'];
    if (bundle?.['type'] !== 'transaction-response' || !Array.isArray(entries) || entries.length !== count) {
      throw this.#fault('answer_invalid', item);
    }
    const stored = (entries as { resource?: unknown; response?: { status?: unknown } }[]).map((entry) => {
      if (!/^20[01]\b/.test(String(entry.response?.status))) throw this.#fault('partly_done', item);
      const one = asStored(entry.resource);
      if (!one) throw this.#fault('answer_invalid', item);
      this.#requireOurs(one, item);
      return one;
    });
    const [first] = stored as [StoredResource];
    return { outcome: 'accepted', externalId: referenceTo(first), result: { entries: stored.map(shown) } };
  }

  #requireOurs(stored: FhirResource, item: SinkItem): void {
    if (!digestsOf(stored, this.marks).includes(item.operationDigest)) throw this.#fault('key_reused', item);
  }

  #fault(code: SinkErrorCode, { idempotencyKey: key }: SinkItem): SinkError {
    return new SinkError(code, { sink: this.client.name, key });
  }
}
