/**
 * How an effect is written into a FHIR resource, and read back.
 *
 * Invariant: the resource carries the idempotency key and the operation digest under two systems that the operator owns, and its
 * match URL is one frozen text: two spellings for one key have made two resources on a real server.
 */
import { createHash } from 'node:crypto';
import { type SinkItem } from '../../ports';

export interface Coding {
  readonly system?: string;
  readonly code?: string;
}

export interface FhirResource {
  readonly resourceType: string;
  readonly id?: string;
  readonly meta?: { readonly versionId?: string; readonly tag?: readonly Coding[]; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** What an operation asks for: a new resource, or a new version of one that must not have moved. */
export type FhirOperation =
  | { readonly ask: 'create'; readonly resource: FhirResource }
  | { readonly ask: 'update'; readonly resource: FhirResource & { readonly id: string }; readonly ifMatch: string };

const TYPE = /^[A-Z][A-Za-z]{1,63}$/;
const ID = /^(?!\.{1,2}$)[A-Za-z0-9.-]{1,64}$/;
const VERSION = /^W\/"([\x21\x23-\x7e]{1,128})"$/;
/** Types whose `identifier` holds one value instead of a list. */
const SINGLE_IDENTIFIER = new Set(['Bundle', 'Composition', 'QuestionnaireResponse']);

export function isResource(value: unknown): value is FhirResource {
  return typeof value === 'object' && value !== null && TYPE.test(String((value as FhirResource).resourceType));
}

/** Reads `{resourceType, …}` or `{resource, ifMatch}`; `null` when it is neither. */
export function parseFhirOperation(operation: unknown): FhirOperation | null {
  if (isResource(operation)) return { ask: 'create', resource: operation };
  const { resource, ifMatch } = (operation ?? {}) as { resource?: unknown; ifMatch?: unknown };
  if (!isResource(resource)) return null;
  if (ifMatch === undefined) return { ask: 'create', resource };
  if (typeof ifMatch !== 'string' || !VERSION.test(ifMatch) || !ID.test(String(resource.id))) return null;
  return { ask: 'update', resource: { ...resource, id: String(resource.id) }, ifMatch };
}

/** The version that an `If-Match` value names. */
export const versionOf = (ifMatch: string): string | undefined => VERSION.exec(ifMatch)?.[1];

/** The id under which `put` mode writes the effect of this key. */
export const effectResourceId = (idempotencyKey: string): string =>
  `eff-${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 60)}`;

export interface EffectMarks {
  readonly keySystem: string;
  readonly digestSystem: string;
}

/** The two systems below a URI that the operator owns. */
export const marksBelow = (system: string): EffectMarks => ({
  keySystem: `${system}/idempotency-key`,
  digestSystem: `${system}/operation-digest`,
});

/** The resource with key and digest as tags, in the place of those that it had, and without what a server assigns. */
export function mark(resource: FhirResource, item: SinkItem, { keySystem, digestSystem }: EffectMarks): FhirResource {
  const { versionId: _version, lastUpdated: _updated, ...meta } = resource.meta ?? {};
  const others = (resource.meta?.tag ?? []).filter(({ system }) => system !== keySystem && system !== digestSystem);
  const tag = [
    ...others,
    { system: keySystem, code: item.idempotencyKey },
    { system: digestSystem, code: item.operationDigest },
  ];
  return { ...resource, meta: { ...meta, tag } };
}

/** The resource with the key as a further identifier, or `null` where its type has no list of them. */
export function identify(resource: FhirResource, key: string, { keySystem }: EffectMarks): FhirResource | null {
  const identifiers = resource['identifier'] ?? [];
  if (SINGLE_IDENTIFIER.has(resource.resourceType) || !Array.isArray(identifiers)) return null;
  return { ...resource, identifier: [...(identifiers as unknown[]), { system: keySystem, value: key }] };
}

export function isIdentified(resource: FhirResource, key: string, { keySystem }: EffectMarks): boolean {
  const identifiers = resource['identifier'];
  return (
    Array.isArray(identifiers) &&
    (identifiers as { system?: string; value?: string }[]).some(
      (identifier) => identifier.system === keySystem && identifier.value === key,
    )
  );
}

/** The operation digest that a stored resource carries. */
export const digestOf = (resource: FhirResource, { digestSystem }: EffectMarks): string | undefined =>
  resource.meta?.tag?.find(({ system }) => system === digestSystem)?.code;

/** The token that a look-up and `If-None-Exist` search for. */
export const keyToken = (key: string, { keySystem }: EffectMarks): string => `${keySystem}|${key}`;

/** The one match URL of a key, never spelled in any other way. */
export const matchUrl = (key: string, marks: EffectMarks): string =>
  `identifier=${encodeURIComponent(keyToken(key, marks))}`;
