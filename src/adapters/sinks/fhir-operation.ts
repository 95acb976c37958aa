/**
 * What an operation asks a FHIR server for: a new resource, a new version of one that must not have moved, or several of these as
 * one transaction.
 *
 * Invariant: an operation that cannot be made safe to repeat is refused by a code before anything is sent. So the entries of a
 * transaction are creates and updates of a named version, and nothing that the author made conditional in another way.
 */
import { type SinkItem } from '../../ports';
import { type FhirResource, isResource, isResourceId, type StoredResource } from './fhir-resource';

/** One resource to write. */
export type FhirStep =
  | { readonly ask: 'create'; readonly resource: FhirResource }
  | { readonly ask: 'update'; readonly resource: StoredResource; readonly ifMatch: string };

export interface FhirTransaction {
  readonly ask: 'transaction';
  /** The author's Bundle, whose entries are those of `entries`. */
  readonly bundle: FhirResource;
  readonly entries: readonly { readonly given: Readonly<Record<string, unknown>>; readonly step: FhirStep }[];
}

export type FhirOperation = FhirStep | FhirTransaction;

/** Why an operation is never sent. */
export type FhirRefusal =
  | 'invalid_operation'
  /** A Bundle of independent requests has no outcome of its own. */
  | 'batch_not_supported'
  | 'transaction_without_entries'
  | 'transactions_not_enabled'
  /** An entry needs a resource and a request for it. */
  | 'entry_invalid'
  /** Reads, deletes, patches, and a `PUT` without `ifMatch`. */
  | 'entry_neither_create_nor_update'
  /** `ifNoneExist` and the like are for the sink to set. */
  | 'entry_conditional'
  | 'type_without_identifier_list';

const VERSION = /^W\/"([\x21\x23-\x7e]{1,128})"$/;
const CONDITIONS = ['ifNoneExist', 'ifNoneMatch', 'ifModifiedSince'];

/** Reads `{resourceType, …}`, `{resource, ifMatch}` or a Bundle of type `transaction`. */
export function parseFhirOperation(operation: unknown): FhirOperation | FhirRefusal {
  if (isResource(operation)) return parseResource(operation);
  const { resource, ifMatch } = (operation ?? {}) as { resource?: unknown; ifMatch?: unknown };
  if (!isResource(resource)) return 'invalid_operation';
  return ifMatch === undefined ? parseResource(resource) : (updateOf(resource, ifMatch) ?? 'invalid_operation');
}

function parseResource(resource: FhirResource): FhirOperation | FhirRefusal {
  if (resource.resourceType !== 'Bundle') return { ask: 'create', resource };
  switch (resource['type']) {
    case 'transaction':
      return parseTransaction(resource);
    case 'batch':
      return 'batch_not_supported';
    default:
      return { ask: 'create', resource };
  }
}

function parseTransaction(bundle: FhirResource): FhirTransaction | FhirRefusal {
  const given = bundle['entry'];
  if (!Array.isArray(given) || given.length === 0) return 'transaction_without_entries';
  const entries = [];
  for (const entry of given as unknown[]) {
    const step = parseEntry(entry);
    if (typeof step === 'string') return step;
    entries.push({ given: entry as Record<string, unknown>, step });
  }
  return { ask: 'transaction', bundle, entries };
}

function parseEntry(entry: unknown): FhirStep | FhirRefusal {
  const { resource, request } = (entry ?? {}) as { resource?: unknown; request?: Record<string, unknown> };
  if (!isResource(resource) || typeof request !== 'object' || request === null) return 'entry_invalid';
  const { method, url, ifMatch } = request;
  if (CONDITIONS.some((name) => request[name] !== undefined)) return 'entry_conditional';
  if (method === 'POST' && ifMatch === undefined) {
    return url === resource.resourceType ? { ask: 'create', resource } : 'entry_invalid';
  }
  if (method !== 'PUT' || ifMatch === undefined) return 'entry_neither_create_nor_update';
  const update = updateOf(resource, ifMatch);
  return update && url === `${update.resource.resourceType}/${update.resource.id}` ? update : 'entry_invalid';
}

function updateOf(resource: FhirResource, ifMatch: unknown): (FhirStep & { ask: 'update' }) | null {
  const { id } = resource;
  if (typeof ifMatch !== 'string' || !VERSION.test(ifMatch) || !isResourceId(id)) return null;
  return { ask: 'update', resource: { ...resource, id }, ifMatch };
}

/** The version that an `If-Match` value names. */
export const versionOf = (ifMatch: string): string | undefined => VERSION.exec(ifMatch)?.[1];

/** What one entry of a transaction is known by: its key is that of the effect and its place in the Bundle. */
export const entryItem = (item: SinkItem, index: number): SinkItem => ({
  ...item,
  idempotencyKey: `${item.idempotencyKey}.${index}`,
});
