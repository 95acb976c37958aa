/**
 * A FHIR R4 server, one resource or one transaction for each effect, in one of two modes:
 *
 *   put                 `PUT Type/eff-HASH` under an id derived from the key; the look-up is a plain read, and 410 shows that
 *                       the effect was committed and then deleted. A late original may overwrite a later edit.
 *   conditional_create  `POST` with `If-None-Exist` on an identifier; nothing is ever overwritten, but a deleted resource looks
 *                       as if it had never been.
 *
 * An operation is a resource, `{resource, ifMatch}` for a new version of one that must not have moved, or a Bundle of type
 * `transaction` whose entries are such creates and updates.
 *
 * Invariant: an effect is written under keys that are its own, so that whatever is sent twice is there once, and found.
 */
import { type EffectSink, type KeyEnforcement } from '../../ports';
import { FhirClient, type FhirPlace } from './fhir-client';
import { FhirLookUp, type FhirMode } from './fhir-look-up';
import { parseFhirOperation } from './fhir-operation';
import { probeFhir } from './fhir-probe';
import { marksBelow } from './fhir-resource';
import { FhirWriter } from './fhir-write';

/** Which server, in which mode, and what is claimed for it; times are in milliseconds. */
export interface FhirSinkOptions extends FhirPlace {
  readonly mode: FhirMode;
  /** A URI that you own; keys and digests are stored under systems below it. Never change it while plans are open. */
  readonly system: string;
  /**
   * Bundles of type `transaction` are sent. The self-test then also proves that the server carries them out whole or not at all;
   * not every server does. @default false
   */
  readonly transactions?: boolean;
  /** Whether a second send under one key is harmless. @default 'always' for conditional_create, 'no' for put */
  readonly enforcesKey?: KeyEnforcement;
  readonly horizonMs?: number;
  /** @default 10000 */
  readonly deadlineMs?: number;
  /** @default 30000 */
  readonly settleMs?: number;
}

/** A FHIR R4 server, one resource or one transaction for each effect. Needs nothing but Node. */
export function fhirSink(options: FhirSinkOptions): EffectSink {
  const { mode, transactions = false, deadlineMs = 10_000 } = options;
  const client = new FhirClient(options);
  const marks = marksBelow(options.system);
  const lookUp = new FhirLookUp(client, mode, marks);
  const writer = new FhirWriter(client, mode, marks);

  return {
    kind: 'fhir_write',
    sideEffect: mode === 'put' ? 'idempotent_write' : 'non_idempotent_write',
    lookup: 'authoritative',
    enforcesKey: options.enforcesKey ?? (mode === 'put' ? 'no' : 'always'),
    deadlineMs,
    settleMs: options.settleMs ?? 30_000,
    ...(options.horizonMs === undefined ? {} : { horizonMs: options.horizonMs }),
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),

    observe: (items, { signal }) =>
      Promise.all(
        items.map(async (item) => {
          const operation = parseFhirOperation(item.operation);
          // What is refused is never sent, so nothing of it can be there.
          return typeof operation === 'string' ? { state: 'absent' } : lookUp.find(operation, item, signal);
        }),
      ),

    async dispatch(item, { signal }) {
      const operation = parseFhirOperation(item.operation);
      if (typeof operation === 'string') return { outcome: 'refused', code: operation };
      if (operation.ask === 'transaction' && !transactions) {
        return { outcome: 'refused', code: 'transactions_not_enabled' };
      }
      return writer.send(operation, item, signal);
    },

    probe: () => probeFhir({ client, lookUp, writer, mode, transactions }, () => AbortSignal.timeout(deadlineMs)),
  };
}
