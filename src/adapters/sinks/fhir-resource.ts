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

export type StoredResource = FhirResource & { readonly id: string };

const TYPE = /^[A-Z][A-Za-z]{1,63}$/;
const ID = /^(?!\.{1,2}$)[A-Za-z0-9.-]{1,64}$/;

/** Whether it is read as a resource: it has a type, and its tags, if any, are tags. */
export function isResource(value: unknown): value is FhirResource {
  if (typeof value !== 'object' || value === null) return false;
  const { resourceType, meta = {} } = value as { resourceType?: unknown; meta?: unknown };
  return TYPE.test(String(resourceType)) && isObject(meta) && isListOfObjects((meta as { tag?: unknown }).tag ?? []);
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const isListOfObjects = (value: unknown): boolean => Array.isArray(value) && value.every(isObject);

export const isResourceId = (value: unknown): value is string => typeof value === 'string' && ID.test(value);

export const referenceTo = (resource: StoredResource): string => `${resource.resourceType}/${resource.id}`;

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

/** The resource with key and digest as further tags, and without what a server assigns. */
export function mark(resource: FhirResource, item: SinkItem, { keySystem, digestSystem }: EffectMarks): FhirResource {
  const { versionId: _version, lastUpdated: _updated, ...meta } = resource.meta ?? {};
  const ours = [
    { system: keySystem, code: item.idempotencyKey },
    { system: digestSystem, code: item.operationDigest },
  ];
  const others = (resource.meta?.tag ?? []).filter(
    ({ system, code }) => !ours.some((tag) => tag.system === system && tag.code === code),
  );
  return { ...resource, meta: { ...meta, tag: [...others, ...ours] } };
}

/** The resource without the marks of any effect: what was copied from another effect's resource is not that effect's. */
export function unmarked(resource: FhirResource, { keySystem, digestSystem }: EffectMarks): FhirResource {
  const { meta, identifier } = resource as FhirResource & { identifier?: unknown };
  const tag = meta?.tag?.filter(({ system }) => system !== keySystem && system !== digestSystem);
  const identifiers = Array.isArray(identifier)
    ? (identifier as (Coding | null)[]).filter((one) => one?.system !== keySystem)
    : identifier;
  return {
    ...resource,
    ...(tag === undefined ? {} : { meta: { ...meta, tag } }),
    ...(identifiers === undefined ? {} : { identifier: identifiers }),
  };
}

/** Types whose `identifier` is not a list, or that have none, in R4. */
export const WITHOUT_IDENTIFIER_LIST: ReadonlySet<string> = new Set([
  ...['AdverseEvent', 'AuditEvent', 'Binary', 'Bundle', 'CapabilityStatement', 'CompartmentDefinition', 'Composition'],
  ...['ConceptMap', 'GraphDefinition', 'ImplementationGuide', 'Linkage', 'MedicationKnowledge'],
  ...['MedicinalProductContraindication', 'MedicinalProductIndication', 'MedicinalProductIngredient'],
  ...['MedicinalProductInteraction', 'MedicinalProductManufactured', 'MedicinalProductUndesirableEffect'],
  ...['MessageHeader', 'NamingSystem', 'OperationDefinition', 'OperationOutcome', 'Parameters', 'Provenance'],
  ...['QuestionnaireResponse', 'SearchParameter', 'SpecimenDefinition', 'Subscription', 'SubscriptionStatus'],
  ...['SubstanceNucleicAcid', 'SubstancePolymer', 'SubstanceProtein', 'SubstanceReferenceInformation'],
  ...['SubstanceSourceMaterial', 'SubstanceSpecification', 'TerminologyCapabilities', 'TestReport', 'TestScript'],
  'VerificationResult',
]);

/** Whether the resource can carry the key as one identifier among others. */
export const isIdentifiable = (resource: FhirResource): boolean =>
  !WITHOUT_IDENTIFIER_LIST.has(resource.resourceType) && Array.isArray(resource['identifier'] ?? []);

/** The resource with the key as a further identifier. */
export function identify(resource: FhirResource, key: string, { keySystem }: EffectMarks): FhirResource {
  const identifiers = (resource['identifier'] ?? []) as readonly unknown[];
  return { ...resource, identifier: [...identifiers, { system: keySystem, value: key }] };
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

/** The operation digests that a stored resource carries: servers keep the tags of earlier versions, in no order. */
export const digestsOf = (resource: FhirResource, { digestSystem }: EffectMarks): readonly string[] =>
  (resource.meta?.tag ?? []).flatMap(({ system, code }) => (system === digestSystem && code ? [code] : []));

/** The token that a look-up and `If-None-Exist` search for. */
export const keyToken = (key: string, { keySystem }: EffectMarks): string => `${keySystem}|${key}`;

/** The one match URL of a key, never spelled in any other way. */
export const matchUrl = (key: string, marks: EffectMarks): string =>
  `identifier=${encodeURIComponent(keyToken(key, marks))}`;
