/**
 * Where the HTTP sink may connect to, and how much it sends.
 *
 * - `addresses: 'public'` connects to no loopback, private, link-local or embedded address, however it is written or resolved.
 * - The address that was judged is the one that is connected to; a name is judged again whenever it is resolved again.
 * - An operation larger than its limit is refused before anything is sent; one of exactly the limit is sent.
 * - The status by which a service says that a key is reused is an option, and is stronger than a refusal of the same status.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HttpExchange } from '../../../src/adapters/sinks/http-exchange';
import { isPublicAddress } from '../../../src/adapters/sinks/public-address';
import { httpSink, type HttpSinkOptions } from '../../../src/adapters/sinks';
import type { EffectSink } from '../../../src/ports';
import { codeOf, makeItem, sendAndTell, within } from './support';

let server: Server;
let port: number;
let arrived: number[] = [];
let status = 201;
beforeAll(async () => {
  server = createServer((request, response) => {
    let size = 0;
    request.on('data', (chunk: Buffer) => (size += chunk.length));
    request.on('end', () => {
      arrived.push(size);
      response.writeHead(status).end('{"id":"x"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve).closeAllConnections()));

const towards = (host: string, over: Partial<HttpSinkOptions> = {}): EffectSink =>
  httpSink({
    name: 'limited',
    url: `http://${host}:${port}/w`,
    lookup: { url: `http://${host}:${port}/w/{key}` },
    ...over,
  });

test.each([
  ['8.8.8.8', true],
  ['172.15.255.255', true],
  ['172.32.0.0', true],
  ['2606:4700::1111', true],
  ['0.0.0.0', false],
  ['10.1.2.3', false],
  ['100.64.0.1', false],
  ['127.255.255.254', false],
  ['169.254.169.254', false],
  ['172.16.0.1', false],
  ['172.31.255.255', false],
  ['192.168.0.1', false],
  ['198.18.0.1', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['::7f00:1', false],
  ['::ffff:8.8.8.8', false],
  ['::ffff:127.0.0.1', false],
  ['64:ff9b::7f00:1', false],
  ['2002:7f00:1::', false],
  ['fd00::1', false],
  ['fe80::1', false],
  ['ff02::1', false],
  ['pay.example.org', false],
  ['', false],
])('%s is on the internet: %s', (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});

describe('only public addresses', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]', '0.0.0.0'])('%s is not connected to', async (host) => {
    arrived = [];
    const sink = towards(host, { addresses: 'public' });
    expect(await sendAndTell(sink, makeItem({}))).toEqual({ outcome: 'not_sent' });
    await expect(sink.observe([makeItem({})], within()).catch(codeOf)).resolves.toBe('not_reachable');
    expect(arrived).toEqual([]);
  });

  test.each(['127.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]'])(
    '%s, another spelling, leads nowhere',
    async (host) => {
      arrived = [];
      for (const addresses of ['public', 'any'] as const) {
        expect(await sendAndTell(towards(host, { addresses }), makeItem({}))).toMatchObject({ outcome: 'refused' });
      }
      expect(arrived).toEqual([]);
    },
  );

  test.each([
    [['127.0.0.1']],
    [['8.8.8.8', '127.0.0.1']],
    [['::1']],
    [['::ffff:127.0.0.1']],
    [[]],
    [['not an address']],
  ])('a name that leads to %j is not connected to', async (addresses) => {
    arrived = [];
    const sink = towards('pay.example.org', { addresses: 'public', resolve: async () => addresses });
    expect(await sendAndTell(sink, makeItem({}))).toEqual({ outcome: 'not_sent' });
    expect(arrived).toEqual([]);
  });

  test('a name that cannot be resolved: nothing is sent, and the resolver is quoted by nobody', async () => {
    const resolve = (): Promise<string[]> => Promise.reject(new Error('planted-secret-4711'));
    expect(await sendAndTell(towards('pay.example.org', { resolve }), makeItem({}))).toEqual({ outcome: 'not_sent' });
  });

  test('without the option, a resolver of yours leads where it says', async () => {
    arrived = [];
    const sink = towards('pay.example.org', { resolve: async () => ['127.0.0.1'] });
    expect(await sendAndTell(sink, makeItem({}))).toMatchObject({ outcome: 'accepted' });
    expect(arrived).toHaveLength(1);
  });

  test('a name is judged for each connection, by the answer that this connection uses', async () => {
    arrived = [];
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    let asked = 0;
    const http = new HttpExchange({
      allowsAddress: (address) => address === '127.0.0.1',
      resolve: async () => answers[asked++] ?? [],
    });
    const send = (): Promise<unknown> =>
      http.send(
        {
          method: 'POST',
          url: new URL(`http://pay.example.org:${port}/`),
          headers: { connection: 'close' },
          body: '{}',
        },
        within().signal,
        { sink: 'limited', key: 'k' },
      );
    expect(await send()).toMatchObject({ status: 201 });
    expect(await send()).toBe('not_connected');
    expect({ asked, arrived: arrived.length }).toEqual({ asked: 2, arrived: 1 });
  });
});

describe('how much is sent', () => {
  const sized = (bytes: number): unknown => 'x'.repeat(bytes - 2);
  test.each([
    [100, 100, true],
    [100, 101, false],
    [undefined, 1024 * 1024, true],
    [undefined, 1024 * 1024 + 1, false],
  ])('a limit of %s bytes and a body of %i: sent is %s', async (maxBodyBytes, size, sent) => {
    arrived = [];
    const sink = towards('127.0.0.1', maxBodyBytes === undefined ? {} : { maxBodyBytes });
    const outcome = await sendAndTell(sink, makeItem(sized(size)));
    expect(outcome).toMatchObject(sent ? { outcome: 'accepted' } : { outcome: 'refused', code: 'operation_too_large' });
    expect(arrived).toEqual(sent ? [size] : []);
  });

  test('bytes are counted, not letters', async () => {
    const sink = towards('127.0.0.1', { maxBodyBytes: 10 });
    expect(await sendAndTell(sink, makeItem('\u00e9\u00e9\u00e9\u00e9\u00e9'))).toMatchObject({ outcome: 'refused' });
  });
});

test.each([
  [400, {}, { outcome: 'refused', code: 'http_400' }],
  [400, { mismatchStatus: 400 }, 'key_reused'],
  [409, { mismatchStatus: 409 }, 'key_reused'],
  [422, {}, 'key_reused'],
  [422, { mismatchStatus: 409, refusedStatuses: [400, 422] }, { outcome: 'refused', code: 'http_422' }],
] as const)('a %i with %j', async (answered, over, told) => {
  status = answered;
  expect(await sendAndTell(towards('127.0.0.1', over), makeItem({}))).toEqual(told);
  status = 201;
});
