/**
 * Properties of reviewers' keys from a server, over real HTTP:
 * - keys are fetched, held, asked for again with their ETag, and found when they are new;
 * - an address without TLS that is not this machine, or with a password, is refused at once;
 * - a redirect, an error, silence, an endless or too large answer, or an invalid set is refused in time, with a sentence that
 *   names neither query nor answer.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reviewersFromUrl } from '../../../src/adapters/reviewers';
import { MAX_JWKS_BYTES } from '../../../src/rules/receipts/jwks';
import { Refusal } from '../../../src/rules/refusal';
import { handClock, read, setOf } from './support';

let server: http.Server;
let answer: http.RequestListener;
let requests: http.IncomingMessage[] = [];
const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys?token=hidden`;
beforeEach(async () => {
  requests = [];
  server = http.createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});

it('fetches, holds, and finds what is new', async () => {
  const clock = handClock();
  const keys = reviewersFromUrl(address(), clock);
  answer = (_request, response) => response.end(setOf('ann'));
  expect(await keys.load()).toEqual(read('ann'));
  answer = (_request, response) => response.end(setOf('ann', 'bob'));
  clock.pass(6_000);
  expect(await keys.load('key-ann')).toEqual(read('ann'));
  expect(await keys.load('key-bob')).toEqual(read('ann', 'bob'));
  expect(await keys.load('key-zoe')).toEqual(read('ann', 'bob'));
  expect(requests).toHaveLength(2);
});

it('asks with the tag of what it holds', async () => {
  const clock = handClock();
  const keys = reviewersFromUrl(address(), clock);
  answer = ({ headers }, response) => {
    if (headers['if-none-match'] === '"1"') response.writeHead(304).end();
    else response.setHeader('etag', '"1"').end(setOf('ann'));
  };
  const first = await keys.load();
  clock.pass(30_000);
  expect(await keys.load()).toBe(first);
  clock.pass(30_000);
  expect(await keys.load()).toBe(first);
  expect(requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"1"', '"1"']);
});

describe('refuses', () => {
  it.each([
    'no address',
    'http://example.org/keys',
    'http://127.0.0.1.example.org/keys',
    'http://127.0.0.2/keys',
    'ftp://127.0.0.1/keys',
    'file:///keys',
    'data:application/json,{}',
    'https://user:secret@example.org/keys',
  ])('the address %s', (url) => {
    expect(() => reviewersFromUrl(url)).toThrow(Refusal);
    expect(() => reviewersFromUrl(url)).not.toThrow(/secret/);
  });

  it.each(['https://example.org/keys', 'http://localhost:1/keys', 'http://[::1]:1/keys'])('not %s', (url) => {
    expect(() => reviewersFromUrl(url)).not.toThrow();
  });

  const endless = (response: http.ServerResponse): void => {
    const more = (): void => {
      while (!response.destroyed && response.write(' '.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  };
  it.each<readonly [string, http.RequestListener, RegExp]>([
    ['a redirect', (_request, response) => response.writeHead(302, { location: '/other' }).end(), /status 302/],
    ['an error', (_request, response) => response.writeHead(500).end('secret'), /status 500/],
    ['"unchanged" to a first question', (_request, response) => response.writeHead(304).end(), /status 304/],
    ['silence', () => undefined, /did not answer within 300 ms/],
    ['an answer that stops', (_request, response) => void response.write('{"keys":['), /did not answer within 300 ms/],
    ['an endless answer', (_request, response) => endless(response), /more than 262144 bytes|within 300 ms/],
    [
      'too large an answer',
      (_request, response) => response.end(' '.repeat(MAX_JWKS_BYTES + 1)),
      /more than 262144 bytes/,
    ],
    ['a closed connection', ({ socket }) => socket.destroy(), /could not be reached/],
    ['a page', (_request, response) => response.end('<html>secret</html>'), /not well-formed JSON/],
    ['nothing', (_request, response) => response.end(), /not well-formed JSON/],
  ])('%s', async (_what, listener, told) => {
    answer = listener;
    const fault: unknown = await reviewersFromUrl(address(), { timeoutMs: 300 })
      .load()
      .catch((reason: unknown) => reason);
    expect(fault).toMatchObject({ code: 'reviewers_unavailable', message: expect.stringMatching(told) as string });
    expect((fault as Refusal).message).not.toMatch(/hidden|secret/);
    expect(requests).toHaveLength(1);
  });
});
