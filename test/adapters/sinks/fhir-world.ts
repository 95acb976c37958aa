/** What the tests of the FHIR sink work with at any server: plain requests past the sink, items, and what a key has left behind. */
import { randomUUID } from 'node:crypto';
import { fhirSink, type FhirSinkOptions } from '../../../src/adapters/sinks';
import { entryItem } from '../../../src/adapters/sinks/fhir-operation';
import type { EffectSink, SinkAnswer, SinkItem } from '../../../src/ports';
import { makeItem, SECRET, within } from './support';

export const MODES = ['put', 'conditional_create'] as const;
export type Mode = (typeof MODES)[number];
export const SYSTEM = 'https://example.org/effects';
export const KEYS = `${SYSTEM}/idempotency-key`;

export interface Stored {
  readonly resourceType: string;
  readonly id: string;
  readonly meta: { readonly versionId: string; readonly tag?: readonly { system: string; code: string }[] };
  readonly identifier?: readonly { system: string; value: string }[];
  readonly subject?: { readonly reference: string };
}

export const observation = (over: object = {}): object => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: SECRET },
  ...over,
});

/** Keys are new in every run: a real server may live longer than one. */
export const itemFor = (operation: unknown = observation()): SinkItem =>
  makeItem(operation, { idempotencyKey: `idem_${randomUUID()}`, operationDigest: digest() });

export const digest = (): string => `${randomUUID()}${randomUUID()}`.replaceAll('-', '');

/** A Patient and an Observation of that Patient, as one transaction. */
export const patientAndObservation = (...more: object[]): object => {
  const fullUrl = `urn:uuid:${randomUUID()}`;
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      {
        fullUrl,
        resource: { resourceType: 'Patient', name: [{ text: SECRET }] },
        request: { method: 'POST', url: 'Patient' },
      },
      {
        resource: observation({ subject: { reference: fullUrl } }),
        request: { method: 'POST', url: 'Observation' },
      },
      ...more,
    ],
  };
};

export class FhirWorld {
  constructor(readonly baseUrl: string) {}

  sink(mode: Mode, over: Partial<FhirSinkOptions> = {}): EffectSink {
    return fhirSink({
      name: 'fhir',
      baseUrl: this.baseUrl,
      mode,
      system: SYSTEM,
      transactions: true,
      credentials: () => ({ authorization: `Bearer ${SECRET}` }),
      ...over,
    });
  }

  /** A request as any other client of the server makes it. */
  async ask(method: string, at: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.baseUrl}/${at}`, {
      method,
      headers: { ...(body ? { 'content-type': 'application/fhir+json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  }

  async stored(at: string): Promise<Stored> {
    return (await (await this.ask('GET', at, undefined, { 'cache-control': 'no-store' })).json()) as Stored;
  }

  /** The resources of a type that carry this key, by the server's own search for tags. */
  async rows(key: string, type = 'Observation', headers = { 'cache-control': 'no-store' }): Promise<readonly Stored[]> {
    const response = await this.ask('GET', `${type}?_tag=${encodeURIComponent(`${KEYS}|${key}`)}`, undefined, headers);
    const { entry = [] } = (await response.json()) as { entry?: { resource: Stored }[] };
    return entry.map(({ resource }) => resource);
  }

  /** The rows of both entries of `patientAndObservation`. */
  async pair(item: SinkItem): Promise<readonly (readonly Stored[])[]> {
    const types = ['Patient', 'Observation'];
    return Promise.all(types.map((type, index) => this.rows(entryItem(item, index).idempotencyKey, type)));
  }

  /** A resource that somebody else has put there. */
  async given(resource: object = observation()): Promise<{ stored: Stored; at: string; ifMatch: string }> {
    const type = (resource as Stored).resourceType;
    const stored = (await (
      await this.ask('POST', type, resource, { prefer: 'return=representation' })
    ).json()) as Stored;
    return { stored, at: `${type}/${stored.id}`, ifMatch: `W/"${stored.meta.versionId}"` };
  }
}

export const look = async (sink: EffectSink, item: SinkItem): Promise<SinkAnswer> =>
  (await sink.observe([item], within()))[0] ?? { state: 'unknown' };
