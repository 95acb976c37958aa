/**
 * The sinks that need nothing but Node, against the kit.
 *
 * - Every case of the kit is kept by the counting sinks, the HTTP sink, the FHIR sink in both modes and the command sink.
 * - What is not applicable is so for the reason that is written here, and for no other.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { commandSink, fhirSink, httpSink } from '../../../src/adapters/sinks';
import {
  countingSink,
  type CountingMode,
  type FaultLine,
  type FhirServer,
  sinkConformance,
  type SinkFixture,
  type SinkServer,
  startCountingServer,
  startFhirServer,
  startIdempotencyServer,
} from '../../../src/testing';
import { BLIND, conforms, NO_LINE, OF_KEYS, OF_LOOKING, OF_MEANING, type Expected } from '../../support/conformance';

const QUICK = { patienceMs: 600, marginMs: 3_000 };
const LIMITS = { deadlineMs: 5_000, settleMs: 1_500 };

describe.each<[CountingMode, Expected]>([
  ['enforcing', { stale_read: /no read that a cache/ }],
  ['lookup', { ...OF_KEYS, stale_read: /no read that a cache/ }],
  [
    'blind',
    {
      ...OF_KEYS,
      ...OF_LOOKING,
      lookup_error: BLIND,
      lookup_gateway: BLIND,
      lookup_garbage: BLIND,
      stale_read: BLIND,
    },
  ],
])('the counting sink, %s', (mode, expected) => {
  let server: SinkServer;
  beforeAll(async () => {
    server = await startCountingServer();
  });
  afterAll(() => server.close());
  const fixture = (): SinkFixture => ({
    ...QUICK,
    target: { url: server.url },
    operation: (text) => ({ note: text }),
    writes: ({ idempotencyKey }) => server.counts(idempotencyKey).writes,
  });
  conforms(
    sinkConformance(({ url }) => countingSink({ url, mode, ...LIMITS }), fixture),
    {
      none: /no start-up self-test/,
      refusal: /no operation that the sink refuses/,
      duplicate_rows: mode === 'blind' ? BLIND : /no second write can be made/,
      expired_key: /cannot be aged/,
      ignored_filter: mode === 'blind' ? BLIND : /filters by nothing/,
      ...expected,
    },
  );
});

describe('the HTTP sink', () => {
  let server: SinkServer;
  beforeAll(async () => {
    server = await startIdempotencyServer();
  });
  afterAll(() => server.close());
  const fixture = (): SinkFixture => ({
    ...QUICK,
    target: { url: server.url },
    secrets: ['a-bearer-token'],
    operation: (text) => ({ amount: 5, note: text }),
    refused: (text) => [{ amount: -1, note: text }],
    writes: ({ idempotencyKey }) => server.counts(idempotencyKey).writes,
  });
  conforms(
    sinkConformance(
      ({ url }) =>
        httpSink({
          name: 'operations',
          url: `${url}/operations`,
          digestHeader: 'operation-digest',
          credentials: () => ({ authorization: 'Bearer a-bearer-token' }),
          // The service takes anything, so what is refused is what cannot be rendered.
          body: (operation) => {
            if (Array.isArray(operation)) throw new Error(`not an order: ${JSON.stringify(operation)}`);
            return operation;
          },
          lookup: { url: `${url}/operations/{key}` },
          selfTest: { operation: { amount: 0 } },
          ...LIMITS,
        }),
      fixture,
    ),
    {
      duplicate_rows: /no second write can be made/,
      expired_key: /cannot be aged/,
      ignored_filter: /filters by nothing/,
    },
  );
});

describe.each<['put' | 'conditional_create', Expected]>([
  ['put', { ...OF_KEYS, ignored_filter: /filters by nothing/ }],
  ['conditional_create', {}],
])('the FHIR sink, %s', (mode, expected) => {
  let server: FhirServer;
  const system = 'https://conformance.example/effects';
  beforeAll(async () => {
    server = await startFhirServer();
  });
  afterAll(() => server.close());
  const observation = (text: string): Record<string, unknown> => ({
    resourceType: 'Observation',
    status: 'final',
    code: { text },
  });
  const fixture = (): SinkFixture => ({
    ...QUICK,
    target: { url: server.baseUrl },
    operation: observation,
    refused: (text) => ({ resourceType: 'not a type', text }),
    writes: ({ idempotencyKey }) => server.counts(idempotencyKey).writes,
  });
  conforms(
    sinkConformance(({ url }) => fhirSink({ name: 'fhir', baseUrl: url, mode, system, ...LIMITS }), fixture),
    {
      ...expected,
      duplicate_rows: /no second write can be made/,
      expired_key: /cannot be aged/,
    },
  );
});

/** The faults of a line, brought about by the tool itself: no connection leads to it. */
function toolLine(folder: string): FaultLine {
  const at = (name: string): string => path.join(folder, name);
  const release = (): void => writeFileSync(at('release'), '');
  return {
    arm(fault) {
      for (const name of ['fault', 'struck', 'release', 'answered']) rmSync(at(name), { force: true });
      writeFileSync(at('fault'), fault);
      return {
        get struck() {
          return existsSync(at('struck'));
        },
        get answered() {
          return existsSync(at('answered'));
        },
        release,
      };
    },
    clear() {
      release();
      rmSync(at('fault'), { force: true });
    },
  };
}

describe('the command sink', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'conformance-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'ledger');
  const tool = path.join(__dirname, 'ledger-under-faults.mjs');
  const fixture: SinkFixture = {
    patienceMs: 1_200,
    marginMs: 10_000,
    line: toolLine(folder),
    operation: (text) => ({ note: text }),
    refused: (text) => ({ text: `${text}\0` }),
    writes: ({ idempotencyKey }) =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .filter((line) => line.includes(idempotencyKey)).length
        : 0,
    duplicate: async ({ idempotencyKey: key, operationDigest: digest }) =>
      writeFileSync(file, `${JSON.stringify({ key, digest })}\n`, { flag: 'a' }),
  };
  conforms(
    sinkConformance(
      () =>
        commandSink({
          name: 'ledger',
          command: process.execPath,
          args: [tool, folder, 'append', file, '{note}'],
          lookup: { args: [tool, folder, 'lookup', file] },
          killGraceMs: 200,
          settleMs: 300,
          deadlineMs: 10_000,
        }),
      fixture,
    ),
    {
      none: /no start-up self-test/,
      cut_anywhere: NO_LINE,
      ...OF_KEYS,
      expired_key: /cannot be aged/,
      ...OF_MEANING,
    },
  );
});
