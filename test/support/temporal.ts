/**
 * The real Temporal server that the tests of one run share. Each test takes its own task queue, and its own namespace
 * where it must be alone; a test file that imports this module makes the run start the server.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';

export interface TestTemporal {
  readonly address: string;
  readonly namespace: string;
  readonly client: Client;
  /** For workers in this process. */
  readonly nativeConnection: NativeConnection;
  close(): Promise<void>;
}

export interface TestTemporalOptions {
  /** A namespace of this test's own; default: `default`, shared by all. */
  readonly ownNamespace?: boolean;
  /** Another server than the shared one, e.g. one that the test restarts. */
  readonly address?: string;
}

export async function connectTemporal(options: TestTemporalOptions = {}): Promise<TestTemporal> {
  const address = options.address ?? temporalAddress();
  const connection = await Connection.connect({ address });
  const namespace = options.ownNamespace ? await registerNamespace(connection) : 'default';
  const nativeConnection = await NativeConnection.connect({ address });
  const client = new Client({ connection, namespace });
  const close = async (): Promise<void> => {
    await nativeConnection.close();
    await connection.close();
  };
  return { address, namespace, client, nativeConnection, close };
}

export const temporalAddress = (): string => shared().address;

/** The program behind the shared server, for tests that start a server of their own or call the CLI. */
export const temporalCli = (): string => shared().cli;

export const uniqueTaskQueue = (label = 'queue'): string => `${label}-${randomUUID()}`;

/** A new namespace is known to the front end at once, to its caches within a second: wait until it is usable. */
async function registerNamespace(connection: Connection): Promise<string> {
  const namespace = `test-${randomUUID()}`;
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never }, // declared Long, a number does
  });
  const client = new Client({ connection, namespace });
  for (let tries = 0; ; tries++) {
    try {
      await client.workflow.count();
      return namespace;
    } catch (error) {
      if (tries === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function shared(): { readonly address: string; readonly cli: string } {
  const temporal = inject('temporal');
  if (!temporal)
    throw new Error("No Temporal server in this run: import from 'test/support/temporal' in the test file itself.");
  return temporal;
}
