/**
 * A launch that is one request to a worker service, and the door through which its workers come back. Invariant: the request
 * leaves at most once; a worker is known by the bearer credential alone, also after the process that launched it has gone.
 *
 * The service gets `POST` with `{job_id, role, provider, model, callback}` and the credential as its bearer token; with any error it can
 * say `{code: 'not_launched'}`, which is believed. A worker
 * asks `GET <callback>/context` and `POST <callback>/submission` with the same token: 200, 201 when taken first, 4xx `{refused}`.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Launcher, WorkerDoors } from '../../ports';
import { NOT_LAUNCHED } from '../../rules/launches/job-outcome';
import { jsonObjectIn } from '../json-object';
import { HttpExchange } from '../sinks/http-exchange';
import { isRefusing } from './refusing-status';
import { codeOf, submitted, type WorkerAnswer } from './worker-request';

export interface HttpLauncherOptions {
  /** What errors call it. */
  readonly name: string;
  /** Where a launch is asked for. */
  readonly url: string;
  /** Further headers, such as the service's own key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Where workers come back. */
  readonly callback?: {
    /** @default '127.0.0.1' */
    readonly host?: string;
    /** @default a free one, which no worker of an earlier process can know */
    readonly port?: number;
    /** What workers are told, where a proxy stands before it. @default the address itself */
    readonly url?: string;
  };
  /** @default 30000 */
  readonly deadlineMs?: number;
  /** Largest submission. @default 1 MiB */
  readonly maxSubmissionBytes?: number;
}

/** A refusal as a status: `unavailable` alone may be asked again. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  worker_unknown: 401,
  unavailable: 503,
};

export function httpLauncher(options: HttpLauncherOptions): Launcher {
  const { name, deadlineMs = 30_000, callback = {} } = options;
  const url = new URL(options.url);
  const exchange = new HttpExchange();
  let address: string | null = callback.url ?? null;
  return {
    deadlineMs,
    async launch(job, { signal, credential }) {
      if (address === null) return { outcome: 'not_launched' }; // nobody could come back
      const body = JSON.stringify({
        ...{ job_id: job.jobId, role: job.role, provider: job.provider, model: job.model },
        callback: address,
      });
      const headers = { ...options.headers, 'content-type': 'application/json', authorization: `Bearer ${credential}` };
      const reply = await exchange.send({ method: 'POST', url, headers, body }, signal, { sink: name, key: job.jobId });
      if (reply === 'not_connected') return { outcome: 'not_launched' };
      if (reply.status >= 200 && reply.status < 300) return { outcome: 'started' };
      const code = jsonObjectIn(reply.body.toString('utf8'))?.['code'];
      if (reply.status >= 400 && code === NOT_LAUNCHED) return { outcome: 'not_launched' };
      if (isRefusing(reply.status)) {
        return { outcome: 'refused', code: typeof code === 'string' ? code : `http_${reply.status}` };
      }
      throw new Error(`unexpected_status: a status that proves nothing [launcher=${name}, job=${job.jobId}]`);
    },
    async listen(doors) {
      const { host = '127.0.0.1', port = 0 } = callback;
      const server = http.createServer((request, response) => {
        void answer(request, doors, options.maxSubmissionBytes ?? 1_048_576).then(({ status, body }) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        });
      });
      await once(server.listen(port, host), 'listening');
      address ??= `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
      return async () => {
        server.close();
        server.closeAllConnections();
        await once(server, 'close');
      };
    },
  };
}

interface Reply {
  readonly status: number;
  readonly body: WorkerAnswer;
}

async function answer(request: http.IncomingMessage, doors: WorkerDoors, mostBytes: number): Promise<Reply> {
  try {
    const credential = /^Bearer ([!-~]{1,512})$/.exec(request.headers.authorization ?? '')?.[1];
    if (credential === undefined) return replyOf({ refused: 'worker_unknown' });
    const door = doors(credential);
    switch (`${request.method} ${request.url?.replace(/^.*\//, '/')}`) {
      case 'GET /context':
        return replyOf({ context: await door.fetchContext() });
      case 'POST /submission': {
        const text = await bodyOf(request, mostBytes);
        const asked = text === null ? null : jsonObjectIn(text);
        return replyOf(asked === null ? { refused: 'invalid_request' } : await submitted(door, asked['output']));
      }
      default:
        return { status: 404, body: { refused: 'invalid_request' } };
    }
  } catch (fault) {
    return replyOf({ refused: codeOf(fault) });
  }
}

function replyOf(body: WorkerAnswer): Reply {
  if ('refused' in body) return { status: STATUS[body.refused] ?? 409, body };
  return { status: 'taken' in body && !body.replayed ? 201 : 200, body };
}

/** Null for one that is too large or breaks off. */
async function bodyOf(request: http.IncomingMessage, mostBytes: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > mostBytes) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString('utf8');
}
