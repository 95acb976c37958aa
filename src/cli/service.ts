/**
 * The connection to Temporal. Invariant: it comes from the standard `TEMPORAL_*` variables and profiles only, and every call
 * has a deadline, so no command hangs on a server that is not there.
 */
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import { PlanClient, VerificationClient } from '../client';
import type { Store } from '../ports';
import { CliError } from './failure';
import { NO_CONTENTS, journalStore, type Settings } from './settings';

const CONNECT_WITHIN_MS = 5_000;
const ANSWER_WITHIN_MS = 5_000;

export interface Service {
  readonly client: Client;
  readonly plans: PlanClient;
  /** Runs a call that must answer soon. */
  soon<T>(call: () => Promise<T>): Promise<T>;
  /** Closes the connection, unless a call is still on its way; the end of the process closes it then. */
  close(): Promise<void>;
}

export async function connect(settings: Settings, contents: Store = NO_STORE): Promise<Service> {
  const { connectionOptions, namespace } = loadConfig();
  const connection = await open(connectionOptions);
  const client = new Client({ connection, ...(namespace === undefined ? {} : { namespace }) });
  let asking = 0;
  return {
    client,
    plans: planClient(client, settings, contents),
    soon: async (call) => {
      asking += 1;
      try {
        return await connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, call);
      } finally {
        asking -= 1;
      }
    },
    // A call that is about to be repeated would find its channel shut down, and that fault would end the process.
    close: () => (asking === 0 ? connection.close() : Promise.resolve()),
  };
}

/** A client that never asks the server: enough to make a plan. */
export function offlinePlans(settings: Settings, contents: Store): PlanClient {
  return planClient(new Client({ connection: Connection.lazy() }), settings, contents);
}

/** Stores that a command does not name are not there for it: what would need them is refused. */
export function verificationRuns(
  { client }: Pick<Service, 'client'>,
  taskQueue: string,
  stores: { readonly journal?: Store; readonly contents?: Store },
): VerificationClient {
  const { journal: store = NO_STORE, contents = NO_STORE } = stores;
  return new VerificationClient({ client, store, contents, taskQueue });
}

/** Of a journal, without a server. */
export function offlineRuns(settings: Pick<Settings, 'journal'>): VerificationClient {
  const client = new Client({ connection: Connection.lazy() });
  return verificationRuns({ client }, '', { journal: journalStore(settings) });
}

function planClient(client: Client, settings: Settings, contents: Store): PlanClient {
  const journal = settings.journal === undefined || settings.journal === '' ? {} : { store: journalStore(settings) };
  return new PlanClient({ client, ...journal, contents, taskQueue: settings.taskQueue });
}

/** Commands that follow, ask or look up store nothing: they must work where no content store is. */
const NO_STORE: Store = { scope: 'host', create: refuseContents, read: refuseContents, list: refuseContents };

function refuseContents(): Promise<never> {
  return Promise.reject(new CliError('invalid_argument', NO_CONTENTS, 'contents'));
}

function loadConfig(): ClientConnectConfig {
  try {
    return loadClientConnectConfig();
  } catch {
    const reason = 'the TEMPORAL_* variables or the chosen profile cannot be used; check their names and values';
    throw new CliError('connection_invalid', reason);
  }
}

async function open(options: ClientConnectConfig['connectionOptions']): Promise<Connection> {
  try {
    return await Connection.connect({ ...options, connectTimeout: CONNECT_WITHIN_MS });
  } catch {
    const address = options.address ?? 'localhost:7233';
    const reason = `no Temporal server answers at ${address}; start one, or set TEMPORAL_ADDRESS or TEMPORAL_PROFILE`;
    throw new CliError('service_unavailable', reason);
  }
}
