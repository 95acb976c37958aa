/**
 * The columns of the matrix: one sink for each strength that a real one can have. Invariant: each is set up by the same
 * rules for every row, so that two cells of a row differ only in what the sink can do.
 */
import { fhirSink } from '../../src/adapters/sinks';
import type { EffectDefinition, EffectSink } from '../../src/ports';
import { countingSink } from '../../src/testing/counting-sink';

export const SINK_NAMES = ['enforcing', 'lookup', 'blind', 'fhir'] as const;
export type SinkName = (typeof SINK_NAMES)[number];

/** The client gives up after this long, unless a row says otherwise. */
export const DEADLINE_MS = 2_000;
export const SETTLE_MS = 2_500;
const LANES = 3;

export interface SinkUrls {
  readonly counting: string;
  readonly fhir: string;
}

interface Column {
  readonly about: string;
  /** The sink itself refuses a second write under one key. */
  readonly enforces: boolean;
  /** Nothing can prove there what became of a send whose answer is lost: the one column that may ask a person. */
  readonly mayAsk: boolean;
  readonly toolId: string;
  readonly server: keyof SinkUrls;
  readonly sink: (url: string, deadlineMs: number) => EffectSink;
  readonly operation: (index: number) => unknown;
}

const counting = (
  mode: 'enforcing' | 'lookup' | 'blind',
): Pick<Column, 'toolId' | 'server' | 'sink' | 'operation'> => ({
  toolId: `tool:example.org/${mode}@1.0.0`,
  server: 'counting',
  sink: (url, deadlineMs) => countingSink({ url, mode, deadlineMs, settleMs: SETTLE_MS, maxInFlight: LANES }),
  operation: (index) => ({ amount: index }),
});

export const COLUMNS: Record<SinkName, Column> = {
  enforcing: { about: 'enforces keys', enforces: true, mayAsk: false, ...counting('enforcing') },
  lookup: { about: 'authoritative look-up, enforces nothing', enforces: false, mayAsk: false, ...counting('lookup') },
  blind: { about: 'neither look-up nor enforcement', enforces: false, mayAsk: true, ...counting('blind') },
  fhir: {
    about: 'FHIR server, conditional create',
    enforces: true,
    mayAsk: false,
    toolId: 'tool:example.org/fhir@1.0.0',
    server: 'fhir',
    sink: (url, deadlineMs) =>
      fhirSink({
        name: 'fhir',
        baseUrl: `${url}/fhir`,
        mode: 'conditional_create',
        system: 'https://example.org/countersign',
        deadlineMs,
        settleMs: SETTLE_MS,
        maxInFlight: LANES,
      }),
    operation: (index) => ({
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'heart rate' },
      valueQuantity: { value: 60 + index, unit: '/min' },
    }),
  },
};

export function definitionOf(name: SinkName, urls: SinkUrls, deadlineMs: number): EffectDefinition {
  const { toolId, sink, server } = COLUMNS[name];
  return { toolId, sink: sink(urls[server], deadlineMs) };
}
