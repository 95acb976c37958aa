/**
 * The start-up self-test of a FHIR sink: create, find, refuse twice; and where transactions are enabled, that they are carried out
 * whole or not at all, with their references.
 *
 * Invariant: at a sound server it leaves the same few `Basic` resources however often it runs; whatever it finds otherwise is
 * `probe_failed` with the step and what was found.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type DispatchOutcome, type SinkItem } from '../../ports';
import { type FhirClient, storedIn } from './fhir-client';
import { type FhirLookUp, type FhirMode } from './fhir-look-up';
import { entryItem, type FhirOperation, parseFhirOperation } from './fhir-operation';
import { SinkError } from './sink-error';
import { type FhirWriter } from './fhir-write';

export interface ProbeParts {
  readonly client: FhirClient;
  readonly lookUp: FhirLookUp;
  readonly writer: FhirWriter;
  readonly mode: FhirMode;
  readonly transactions: boolean;
}

/** Gives each request of the self-test its own time. */
type Within = () => AbortSignal;

const BASIC = { resourceType: 'Basic', code: { text: 'Countersign start-up self-test' } };
const STEPS = ['create', 'first repeat', 'second repeat'];
const NEVER_CURRENT = 'W/"0"';
const TRIES = 8;
const PAUSE_MS = 100;

export async function probeFhir(parts: ProbeParts, within: Within): Promise<void> {
  const [reference] = await createFindRepeat(parts, `self-test-${parts.mode}`, BASIC, within);
  await findsNothing(parts, within);
  if (!parts.transactions) return;
  await refersInside(parts, within);
  await allOrNothing(parts, reference ?? '', within);
}

const failed = ({ client }: ProbeParts, key: string, detail: string): SinkError =>
  new SinkError('probe_failed', { sink: client.name, key }, { detail });

const itemOf = (key: string, operation: unknown): SinkItem => ({
  toolId: 'self-test',
  actionId: 'self-test',
  idempotencyKey: key,
  operationDigest: '0'.repeat(64),
  operation,
});

type Told = { readonly outcome: string; readonly externalId?: string | null };

/** The outcome of a send, or the code of what it threw. */
async function told(send: () => Promise<DispatchOutcome>): Promise<Told> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof SinkError) return { outcome: error.code };
    throw error;
  }
}

/** Workers that start at once lose races against each other; that is no fault of the server. */
async function toldInTheEnd(send: () => Promise<DispatchOutcome>): Promise<Told> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await told(send);
    if (outcome.outcome !== 'in_flight' || tries === TRIES) return outcome;
    await delay(PAUSE_MS * tries);
  }
}

/** The references of what was created, after it was created, found, and sent twice more. */
async function createFindRepeat(
  parts: ProbeParts,
  key: string,
  operation: unknown,
  within: Within,
): Promise<readonly string[]> {
  const { lookUp, writer } = parts;
  const item = itemOf(key, operation);
  const parsed = parseFhirOperation(operation) as FhirOperation;
  let first: string | null | undefined;
  let result: unknown;
  for (const step of STEPS) {
    const sent = await toldInTheEnd(() => writer.send(parsed, item, within()));
    if (sent.outcome !== 'accepted') throw failed(parts, key, `step=${step}, found=${sent.outcome}`);
    const found = await lookUp.find(parsed, item, within());
    if (found.state !== 'committed') throw failed(parts, key, `step=find after ${step}, found=${found.state}`);
    if (found.operationDigest !== item.operationDigest) {
      throw failed(parts, key, `step=find after ${step}, found=another digest`);
    }
    first ??= sent.externalId;
    if (sent.externalId !== first || found.externalId !== first) {
      throw failed(parts, key, `step=${step}, found=another resource`);
    }
    result = found.result;
  }
  const { entries = [result] } = result as { entries?: unknown[] };
  return (entries as { reference: string }[]).map(({ reference }) => reference);
}

/** What was never sent must be said to be absent in a form that counts. */
async function findsNothing(parts: ProbeParts, within: Within): Promise<void> {
  const key = `self-test-${parts.mode}-${randomUUID()}`;
  const parsed = parseFhirOperation(BASIC) as FhirOperation;
  const state = await parts.lookUp.find(parsed, itemOf(key, BASIC), within()).then(
    (answer) => answer.state,
    (fault: unknown) => (fault as SinkError).code,
  );
  if (state !== 'absent') throw failed(parts, key, `step=find what was never sent, found=${state}`);
}

const creation = (more: object = {}): object => ({
  resource: { ...BASIC, ...more },
  request: { method: 'POST', url: 'Basic' },
});

/** A reference from one entry to another must lead to what that one became. */
async function refersInside(parts: ProbeParts, within: Within): Promise<void> {
  const key = `self-test-${parts.mode}-transaction`;
  const fullUrl = 'urn:uuid:0c6e5f1e-4b52-4f5e-9d55-0e5f6f1d9a01';
  const entry = [{ fullUrl, ...creation() }, creation({ subject: { reference: fullUrl } })];
  const bundle = { resourceType: 'Bundle', type: 'transaction', entry };
  const [first, second] = await createFindRepeat(parts, key, bundle, within);
  const stored = storedIn(await parts.client.read(String(second), key, within()));
  const { reference } = (stored?.['subject'] ?? {}) as { reference?: string };
  if (!`/${reference}`.endsWith(`/${first}`))
    throw failed(parts, key, 'step=reference inside a transaction, found=another one');
}

/** A transaction that cannot be carried out whole must leave nothing. Its key is new each time: a bad server keeps a part. */
async function allOrNothing(parts: ProbeParts, reference: string, within: Within): Promise<void> {
  const key = `self-test-${parts.mode}-${randomUUID()}`;
  const stale = {
    resource: { ...BASIC, id: reference.split('/')[1] },
    request: { method: 'PUT', url: reference, ifMatch: NEVER_CURRENT },
  };
  const bundle = { resourceType: 'Bundle', type: 'transaction', entry: [creation(), stale] };
  const item = itemOf(key, bundle);
  const parsed = parseFhirOperation(bundle) as FhirOperation & { ask: 'transaction' };
  const sent = await told(() => parts.writer.send(parsed, item, within()));
  const [created] = parsed.entries;
  const found = created && (await parts.lookUp.findStep(created.step, entryItem(item, 0), within()));
  if (sent.outcome === 'accepted' || found?.state !== 'absent') {
    throw failed(
      parts,
      key,
      `step=transaction that cannot be whole, found=${sent.outcome}, first entry ${found?.state}`,
    );
  }
}
