/**
 * The connection to Temporal. Invariant: it comes from the standard `TEMPORAL_*` variables and profiles only, and every call
 * has a deadline, so no command hangs on a server that is not there.
 */
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig, type ClientConnectConfig } from '@temporalio/envconfig';
import { PlanClient } from '../client';
import type { Store } from '../ports';
import { CliError } from './failure';
import { NO_CONTENTS, contentStore, hasContents, journalStore, type Settings } from './settings';

const CONNECT_WITHIN_MS = 5_000;
const ANSWER_WITHIN_MS = 5_000;

export interface Service {
  readonly plans: PlanClient;
  /** Runs a call that must answer soon. */
  soon<T>(call: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function connect(settings: Settings): Promise<Service> {
  const { connectionOptions, namespace } = loadConfig();
  const connection = await open(connectionOptions);
  const client = new Client({ connection, ...(namespace === undefined ? {} : { namespace }) });
  return {
    plans: planClient(client, settings),
    soon: (call) => connection.withDeadline(Date.now() + ANSWER_WITHIN_MS, call),
    close: () => connection.close(),
  };
}

/** A client that never asks the server: enough to make a plan. */
export function offlinePlans(settings: Settings): PlanClient {
  return planClient(new Client({ connection: Connection.lazy() }), settings);
}

function planClient(client: Client, settings: Settings): PlanClient {
  const journal = settings.journal === undefined || settings.journal === '' ? {} : { store: journalStore(settings) };
  return new PlanClient({ client, ...journal, contents: contentsOf(settings), taskQueue: settings.taskQueue });
}

/** Most commands need no contents; one that does says so when it gets there. */
function contentsOf(settings: Settings): Store {
  if (hasContents(settings)) return contentStore(settings);
  const refuse = (): Promise<never> => Promise.reject(new CliError('invalid_argument', NO_CONTENTS, 'contents'));
  return { scope: 'host', create: refuse, read: refuse, list: refuse };
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
