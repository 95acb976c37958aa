/**
 * Properties of a launch that is a request to a worker service, with a real service on a socket:
 * - one launch is one request, whatever is answered; 2xx started it, a connection never made launched nothing; of all other answers
 *   only the listed statuses, and the typed word that nothing was launched, prove that it did not, whatever else the answer says; an
 *   answer is not followed elsewhere;
 * - the worker comes back with its credential and with nothing else: fetches its context, submits once, again the same is 200,
 *   another 409; without the credential it is told 401, whatever the path says;
 * - what is no request of a worker changes nothing; a refusal is its code.
 */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WorkerDoor } from '../../../src';
import { httpLauncher } from '../../../src/adapters/launchers';
import { Refusal } from '../../../src/rules/refusal';
import { JOB, KeptDoor, shut, visit } from './support';

let service: http.Server;
let url: string;
let reply: { status: number; headers?: http.OutgoingHttpHeaders; body?: string } | 'cut';
let received: { authorization: string | undefined; body: Record<string, unknown> }[];

beforeEach(async () => {
  reply = { status: 202 };
  received = [];
  service = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
      received.push({ authorization: request.headers.authorization, body });
      if (reply === 'cut') request.socket.destroy();
      else response.writeHead(reply.status, reply.headers).end(reply.body);
    });
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/launches`;
});
afterEach(() => {
  service.close();
  service.closeAllConnections();
});

const stranger: WorkerDoor = {
  fetchContext: () => Promise.reject(new Refusal('worker_unknown', 'is not known')),
  submit: () => Promise.resolve({ taken: false, code: 'worker_unknown' }),
};

test.each([
  [{ status: 202 }, { outcome: 'started' }],
  [{ status: 400 }, { outcome: 'refused', code: 'http_400' }],
  [
    { status: 403, body: '{"code":"no_budget"}' },
    { outcome: 'refused', code: 'no_budget' },
  ],
  [{ status: 408 }, 'unknown'],
  [{ status: 500 }, 'unknown'],
  [{ status: 307, headers: { location: '/launches' } }, 'unknown'],
  ['cut', 'unknown'],
] as const)('%j is taken for what it proves', async (given, expected) => {
  reply = given;
  const launcher = httpLauncher({ name: 'service', url });
  const close = await launcher.listen?.(() => stranger);
  const outcome = await launcher.launch(JOB, visit(stranger)).catch(() => 'unknown' as const);
  expect(outcome).toEqual(expected);
  expect(received).toHaveLength(1);
  await close?.();
});

const REFUSING = [400, 401, 402, 403, 404, 405, 413, 415, 422, 429];
const ERRORS = Array.from({ length: 200 }, (_one, index) => 400 + index);

test('of all 4xx and 5xx, the listed ones refuse, and any other does once it says that nothing was launched', async () => {
  const launcher = httpLauncher({ name: 'service', url });
  const close = await launcher.listen?.(() => stranger);
  const answerTo = async (given: typeof reply): Promise<unknown> => {
    reply = given;
    return launcher.launch(JOB, visit(stranger)).catch(() => 'unknown');
  };
  for (const status of ERRORS) {
    const refuses = REFUSING.includes(status);
    expect(await answerTo({ status }), `${status}`).toEqual(
      refuses ? { outcome: 'refused', code: `http_${status}` } : 'unknown',
    );
    expect(await answerTo({ status, body: '{"code":"conflict"}' }), `${status} with a word of its own`).toEqual(
      refuses ? { outcome: 'refused', code: 'conflict' } : 'unknown',
    );
    expect(await answerTo({ status, body: '{"code":"not_launched"}' }), `${status} not launched`).toEqual({
      outcome: 'not_launched',
    });
  }
  expect(received).toHaveLength(3 * ERRORS.length);
  await close?.();
});

test('nobody there, or nowhere to come back to: not launched', async () => {
  const nowhere = httpLauncher({ name: 'service', url });
  expect(await nowhere.launch(JOB, visit(stranger))).toEqual({ outcome: 'not_launched' });
  service.close();
  await once(service, 'close');
  const launcher = httpLauncher({ name: 'service', url });
  const close = await launcher.listen?.(() => stranger);
  expect(await launcher.launch(JOB, visit(stranger))).toEqual({ outcome: 'not_launched' });
  expect(received).toEqual([]);
  await close?.();
});

test('its worker comes back with its credential', async () => {
  const door = new KeptDoor();
  const at = visit(door);
  const launcher = httpLauncher({ name: 'service', url });
  const close = await launcher.listen?.((credential) => (credential === at.credential ? door : stranger));
  await launcher.launch(JOB, at);
  const [{ authorization, body } = { authorization: '', body: {} }] = received;
  expect(authorization).toBe(`Bearer ${at.credential}`);
  expect(JSON.stringify(body)).not.toContain(at.credential);
  const callback = String(body['callback']);
  const ask = async (method: string, path: string, bearer: string | null, text?: string): Promise<unknown> => {
    const headers = bearer === null ? {} : { authorization: `Bearer ${bearer}` };
    const answer = await fetch(`${callback}${path}`, {
      method,
      headers,
      ...(text === undefined ? {} : { body: text }),
    });
    return [answer.status, await answer.json()];
  };
  const output = (verdict: string): string => JSON.stringify({ output: { verdict } });
  expect(await ask('GET', '/context', null)).toEqual([401, { refused: 'worker_unknown' }]);
  expect(await ask('GET', '/context', 'wrk_0')).toEqual([401, { refused: 'worker_unknown' }]);
  expect(await ask('POST', '/submission', 'wrk_0', output('theirs'))).toEqual([401, { refused: 'worker_unknown' }]);
  expect(await ask('GET', '/context', at.credential)).toEqual([200, { context: { prompt: 'check this' } }]);
  expect(await ask('POST', '/submission', at.credential, '{')).toEqual([400, { refused: 'invalid_request' }]);
  expect(await ask('POST', '/submission', at.credential, '{}')).toEqual([400, { refused: 'invalid_request' }]);
  expect(await ask('DELETE', '/context', at.credential)).toEqual([404, { refused: 'invalid_request' }]);
  expect(door.outputs).toEqual([]);
  expect(await ask('POST', '/submission', at.credential, output('ours'))).toEqual([
    201,
    { taken: true, replayed: false },
  ]);
  expect(await ask('POST', '/submission', at.credential, output('ours'))).toEqual([
    200,
    { taken: true, replayed: true },
  ]);
  expect(await ask('POST', '/submission', at.credential, output('other'))).toEqual([
    409,
    { refused: 'record_conflict' },
  ]);
  expect(door.outputs).toEqual([{ verdict: 'ours' }]);
  await close?.();
});

const gone: WorkerDoor = {
  fetchContext: () => Promise.reject(new Error('the journal cannot be reached')),
  submit: () => Promise.reject(new Error('the journal cannot be reached')),
};

test('what is too large, or too late, is refused by its code, and an outage is 503', async () => {
  const launcher = httpLauncher({ name: 'service', url, maxSubmissionBytes: 100 });
  const kept = new KeptDoor();
  const close = await launcher.listen?.((credential) => ({ late: shut, unreachable: gone })[credential] ?? kept);
  const at = visit(kept);
  await launcher.launch(JOB, at);
  const callback = String(received[0]?.body['callback']);
  const large = { method: 'POST', body: JSON.stringify({ output: 'x'.repeat(200) }) };
  const submit = await fetch(`${callback}/submission`, { ...large, headers: { authorization: 'Bearer one' } });
  expect([submit.status, await submit.json()]).toEqual([400, { refused: 'invalid_request' }]);
  const late = await fetch(`${callback}/context`, { headers: { authorization: 'Bearer late' } });
  expect([late.status, await late.json()]).toEqual([409, { refused: 'receipt_expired' }]);
  const unreachable = await fetch(`${callback}/context`, { headers: { authorization: 'Bearer unreachable' } });
  expect([unreachable.status, await unreachable.json()]).toEqual([503, { refused: 'unavailable' }]);
  expect(kept.outputs).toEqual([]);
  await close?.();
});
