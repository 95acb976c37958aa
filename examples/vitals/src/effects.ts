/**
 * The three tools that the plan names, and what each sink promises. Change the URLs and you have your own.
 */
import path from 'node:path';
import type { EffectDefinition } from 'countersign';
import { commandSink, fhirSink, httpSink } from 'countersign/sinks';

export interface Places {
  /** Base URL of a FHIR R4 server. */
  readonly fhirUrl: string;
  /** Base URL of a service that understands `Idempotency-Key`. */
  readonly billingUrl: string;
  /** The file that the local tool appends to. */
  readonly ledgerFile: string;
}

const ledgerTool = path.resolve(__dirname, '../../ledger-tool/ledger.mjs');

export function effects({ fhirUrl, billingUrl, ledgerFile }: Places): readonly EffectDefinition[] {
  return [
    {
      toolId: 'tool:example.org/ledger@1.0.0',
      // A program on this machine. It does not enforce keys, but its look-up is worth everything: the file is the truth.
      sink: commandSink({
        name: 'ledger',
        command: process.execPath,
        args: [ledgerTool, 'append', ledgerFile],
        lookup: { args: [ledgerTool, 'lookup', ledgerFile] },
        deadlineMs: 5_000,
        settleMs: 1_000,
      }),
    },
    {
      toolId: 'tool:example.org/fhir-observation@1.0.0',
      sink: fhirSink({
        name: 'fhir',
        baseUrl: fhirUrl,
        mode: 'conditional_create',
        system: 'https://example.org/countersign',
        deadlineMs: 5_000,
        settleMs: 2_000,
      }),
      compensationLimit: 'propose_only',
    },
    {
      toolId: 'tool:example.org/billing@1.0.0',
      // Draft "Idempotency-Key": the service answers a second request under one key as it answered the first.
      sink: httpSink({
        name: 'billing',
        url: `${billingUrl}/operations`,
        digestHeader: 'operation-digest',
        lookup: { url: `${billingUrl}/operations/{key}`, absentStatuses: [404] },
        deadlineMs: 5_000,
        settleMs: 2_000,
      }),
    },
  ];
}

/** Reads the places from the environment and names the variable that is missing. */
export function placesFromEnvironment(env: NodeJS.ProcessEnv = process.env): Places {
  const need = (name: string): string => {
    const value = env[name];
    if (value === undefined || value === '') throw new Error(`${name} is not set; see README.md of this example`);
    return value;
  };
  return { fhirUrl: need('FHIR_URL'), billingUrl: need('BILLING_URL'), ledgerFile: need('LEDGER_FILE') };
}
