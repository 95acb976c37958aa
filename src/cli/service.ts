/**
 * The connection to Temporal. Invariant: it comes from the standard `TEMPORAL_*` variables and profiles only, and every call
 * has a deadline, so no command hangs on a server that is not there.
 */
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import { PlanClient } from '../client';
import type { Store } from '../ports';
import { CliError } from './failure';
import { NO_CONTENTS, journalStore, type Settings } from './settings';

const CONNECT_WITHIN_MS = 5_000;
const ANSWER_WITHIN_MS = 5_000;

export interface Service {
  readonly plans: PlanClient;
  /** Runs a call that must answer soon. */
  soon<T>(call: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function connect(settings: Settings, contents: Store = NO_STORE): Promise<Service> {
  const { connectionOptions, namespace } = loadConfig();
  const connection = await open(connectionOptions);
  const client = new Client({ connection, ...(namespace === undefined ? {} : { namespace }) });
  return {
    plans: planClient(client, settings, contents),
    soon: (call) => connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, call),
    close: () => connection.close(),
  };
}

/** A client that never asks the server: enough to make a plan. */
export function offlinePlans(settings: Settings, contents: Store): PlanClient {
  return planClient(new Client({ connection: Connection.lazy() }), settings, contents);
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
