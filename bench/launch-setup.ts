/**
 * One server, one worker, one provider and a person who signs, for the measurements of launches. Everything is stopped afterwards.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { CountersignPlugin, initJournal, putContent, type Ref, type Store } from '../src';
import { modelLauncher } from '../src/adapters/launchers';
import { jobWorkflowId, orderToRecord } from '../src/rules/launches/job-order';
import { orderOfCall } from '../src/rules/launches/launch-call';
import { jwksFromBytes } from '../src/rules/receipts/jwks';
import { signReceipt } from '../src/rules/receipts/jws';
import { makeSigningKey, publicEntry } from '../src/rules/receipts/signing-key';
import { sha256Hex } from '../src/rules/recovery';
import { startDevServer } from '../src/testing/dev-server';
import type { AuthorizedJobInput } from '../src/workflow';
import { ORIGIN, RUNNING_DEADLINE_MS, TERMS, type SignedLaunch } from './launch-workflows';

const TASK_QUEUE = 'bench';
const ROLE = 'role:countersign.bench/person';
const PROMPT = { prompt: 'Does the text say what its sources say?' };

export interface LaunchBench {
  /** What takes a person: the context is stored and its launch is signed, as arguments are made before a workflow starts. */
  sign(id: string): Promise<void>;
  launch(id: string): Promise<void>;
  /** The workflow of a job, without an author's around it. */
  job(id: string): Promise<void>;
  plain(workflow: 'plain' | 'plainInChild', id: string): Promise<void>;
  /** How long the provider takes from now on. */
  slow(ms: number): void;
  /** Requests at the provider, in all. */
  requests(): number;
}

export interface LaunchSetting {
  /** Without the server's limit of one step per 50 ms and workflow. */
  readonly lifted: boolean;
  readonly storeAt: (name: 'journal' | 'contents') => Store;
}

interface Signed {
  readonly launch: SignedLaunch;
  readonly job: AuthorizedJobInput & { readonly job_id: string };
}

export async function withLaunches<T>(
  { lifted, storeAt }: LaunchSetting,
  body: (bench: LaunchBench) => Promise<T>,
): Promise<T> {
  const server = await startDevServer(
    lifted ? { dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 } } : {},
  );
  const provider = await startProvider();
  const native = await NativeConnection.connect({ address: server.address });
  const connection = await Connection.connect({ address: server.address });
  try {
    const [store, contents] = [storeAt('journal'), storeAt('contents')];
    const { journalId } = await initJournal(store);
    const key = makeSigningKey(new Uint8Array(32).fill(7), 'person:countersign.bench/ann', [ROLE]);
    const keys = jwksFromBytes(JSON.stringify({ keys: [publicEntry(key)] }));
    const ask = async (fetching: typeof fetch, signal?: AbortSignal): Promise<unknown> =>
      (
        await fetching(provider.url, { method: 'POST', body: '{}', ...(signal === undefined ? {} : { signal }) })
      ).json();
    const launcher = modelLauncher({
      client: (forced) => forced,
      call: (client, { signal }) => ask(client.fetch, signal),
    });
    const worker = await Worker.create({
      connection: native,
      taskQueue: TASK_QUEUE,
      workflowsPath: require.resolve('./launch-workflows'),
      activities: { request: () => ask(fetch) },
      plugins: [
        new CountersignPlugin({
          ...{ store, contents, reviewers: { load: () => Promise.resolve(keys) } },
          launchers: [{ provider: TERMS.provider, model: TERMS.model, launcher }],
        }),
      ],
    });
    const client = new Client({ connection });
    const execute = <R>(workflow: string, workflowId: string, arg: unknown): Promise<R> =>
      client.workflow.execute(workflow, { workflowId, taskQueue: TASK_QUEUE, args: [arg] }) as Promise<R>;
    const signed = new Map<string, Signed>();
    const bench: LaunchBench = {
      sign: async (id) => {
        const context: Ref = await putContent(contents, PROMPT);
        signed.set(
          id,
          signedLaunch(id, context, journalId, (claims) => signReceipt(claims, key)),
        );
      },
      launch: async (id) =>
        expectIn('submission', (await execute<{ status: string }>('launched', id, signed.get(id)?.launch)).status),
      job: async (id) => {
        const { job_id: jobId, ...input } = signed.get(id)?.job as Signed['job'];
        expectIn('completed', (await execute<{ state: string }>('authorizedJob', jobWorkflowId(jobId), input)).state);
      },
      plain: async (workflow, id) => void (await execute(workflow, id, id)),
      slow: (ms) => void (provider.latencyMs = ms),
      requests: () => provider.requests,
    };
    return await worker.runUntil(body(bench));
  } finally {
    await connection.close();
    await native.close();
    await server.stop();
    provider.close();
  }
}

function signedLaunch(
  id: string,
  context: Ref,
  journalId: string,
  sign: (claims: Parameters<typeof signReceipt>[0]) => string,
): Signed {
  const terms = { ...TERMS, contentBoundary: 'whole_context', contextDigest: context.countersign_ref } as const;
  const order = orderOfCall({ origin: ORIGIN, workflowId: id, id }, terms);
  const { role: _role, parent: _parent, origin: _origin, ...fixed } = order;
  const iat = Math.floor(Date.now() / 1_000);
  const times = { jti: `nonce_${sha256Hex(id).slice(0, 32)}`, iat, exp: iat + 3_600 };
  const by = { retryLimit: 0, authorizer: 'human', role: ROLE } as const;
  const receipt = sign({ kind: 'launch', journalId, ...fixed, ...by, ...times });
  const job = { order: orderToRecord(order), receipt, running_deadline_ms: RUNNING_DEADLINE_MS, job_id: order.jobId };
  return { launch: { id, context, receipt }, job };
}

function expectIn(wanted: string, found: string): void {
  if (found !== wanted) throw new Error(`a launch ended as ${found}`);
}

interface Provider {
  readonly url: string;
  latencyMs: number;
  requests: number;
  close(): void;
}

/** Answers every request after a while, and counts them. */
async function startProvider(): Promise<Provider> {
  const server = http.createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      provider.requests += 1;
      void sleep(provider.latencyMs).then(() => response.end('{"answer":"it does"}'));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const provider: Provider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    latencyMs: 0,
    requests: 0,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return provider;
}
