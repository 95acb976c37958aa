/**
 * Properties of the lines on which the kill matrix strikes real sinks, at a real PostgreSQL and before an HTTP server:
 * - a write of the key is held before the sink has it, or after; released it goes on, dropped it never comes or is never answered;
 * - it reaches the sink although its sender is gone by then, also later than the sink itself would let it;
 * - writes of other keys and look-ups of the same key pass;
 * - what is counted is what the sink holds, and a write is in hand until it is settled.
 */
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { migratePostgresSink, postgresSink } from '../../src/adapters/sinks';
import type { DispatchOutcome, EffectSink, SinkContext, SinkItem } from '../../src/ports';
import { type CellSink } from '../../scripts/kill-matrix/cell-sink';
import { openHttpLine } from '../../scripts/kill-matrix/http-line';
import { openPgLine, type PgLine } from '../../scripts/kill-matrix/pg-line';
import { postgresRow } from '../../scripts/kill-matrix/real-operations';
import { keyIn } from '../../scripts/kill-matrix/struck-writes';
import { makeItem } from '../adapters/sinks/support';
import { describeWith } from '../systems/available';
import { startPostgres } from '../systems/postgres';

const within = (deadlineMs: number): SinkContext => ({ signal: AbortSignal.timeout(deadlineMs), deadlineMs });

let made = 0;
const newKey = (): string => `idem_${String((made += 1)).padStart(64, '0')}`;

describeWith(
  'a line to PostgreSQL',
  () => startPostgres(),
  (server) => {
    let line: PgLine;
    let cell: CellSink;
    let database: string;
    let item: SinkItem;
    const key = (): string => item.idempotencyKey;

    beforeAll(async () => {
      database = await server.makeDatabase();
      await server.query(database, postgresRow.table);
      await migratePostgresSink({ connection: server.address(database) });
      line = await openPgLine(server.port);
      cell = line.sink(async (asked) => {
        const [found] = await server.query(database, postgresRow.count({ effect: asked }));
        return Number(found?.['rows']);
      });
      return () => line.close();
    });
    beforeEach(() => {
      const idempotencyKey = newKey();
      item = makeItem({ effect: idempotencyKey }, { idempotencyKey });
    });

    const sink = (port: number, deadlineMs = 20_000): EffectSink =>
      postgresSink({
        ...{ name: 'rows', connection: `postgres://postgres@127.0.0.1:${port}/${database}`, deadlineMs },
        statements: (operation) => postgresRow.insert(operation as { effect: string }),
      });
    const send = (deadlineMs = 20_000): Promise<DispatchOutcome | Error> =>
      sink(line.port, deadlineMs)
        .dispatch(item, within(deadlineMs))
        .catch((fault: Error) => fault);
    const look = async (): Promise<string | undefined> =>
      (await sink(line.port).observe([item], within(20_000)))[0]?.state;

    it('passes what is not programmed, look-ups of the key too', async () => {
      await cell.programme({ fault: 'hold_before', key: newKey() });
      expect(await look()).toBe('absent');
      expect(await send()).toMatchObject({ outcome: 'accepted' });
      expect(await look()).toBe('committed');
      expect(await cell.counts(key())).toEqual({ writes: 1, received: 1, inHand: 0 });
      expect(await send()).toMatchObject({ outcome: 'accepted' });
      expect(await cell.counts(key())).toEqual({ writes: 1, received: 2, inHand: 0 });
    });

    it.each([
      ['continue', 1],
      ['drop', 0],
    ] as const)('holds a write before its commit: %s', async (how, writes) => {
      await cell.programme({ fault: 'hold_before', key: key() });
      const sent = send();
      await cell.wait('held', { key: key() });
      expect(await cell.counts(key())).toEqual({ writes: 0, received: 1, inHand: 1 });
      expect(await look()).toBe('in_flight');
      await cell.release(key(), how);
      expect(await sent).toMatchObject(how === 'continue' ? { outcome: 'accepted' } : { code: 'connection_lost' });
      expect(await cell.counts(key())).toEqual({ writes, received: 1, inHand: 0 });
    });

    it.each(['hold_after', 'drop_reply'] as const)('keeps the answer to a commit: %s', async (fault) => {
      await cell.programme({ fault, key: key() });
      const sent = send();
      await cell.wait('committed', { key: key() });
      if (fault === 'hold_after') await cell.wait('held', { key: key() });
      expect(await cell.counts(key())).toMatchObject({ writes: 1 });
      await cell.release(key(), 'drop');
      expect(await sent).toMatchObject({ code: 'connection_lost' });
      expect(await look()).toBe('committed');
    });

    it('commits after its client has given up', async () => {
      await cell.programme({ fault: 'late_commit', key: key(), delayMs: 1_500 });
      expect(await send(500)).toMatchObject({ code: 'deadline_passed' });
      expect(await cell.counts(key())).toEqual({ writes: 0, received: 1, inHand: 1 });
      expect(await look()).toBe('in_flight');
      await cell.wait('committed', { key: key() });
      expect(await look()).toBe('committed');
      expect(await cell.counts(key())).toMatchObject({ writes: 1, received: 1 });
    });
  },
);

const held: string[] = [];
const http = createServer((incoming, outgoing) => {
  incoming.resume().on('end', () => {
    if (incoming.method === 'PUT') held.push(String(incoming.url));
    outgoing.end('done');
  });
});
beforeAll(() => new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve)));
afterAll(() => void http.closeAllConnections());

it('a line to an HTTP server strikes what writes the key, and nothing else', async () => {
  const target = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
  const line = await openHttpLine('test', target, ({ method, path }) => (method === 'PUT' ? keyIn(path) : null));
  const cell = line.writes.sink(async (key) => held.filter((url) => url.includes(key)).length);
  const ask = (method: string, key: string, signal?: AbortSignal): Promise<string> =>
    fetch(`http://127.0.0.1:${line.port}/${key}`, { method, ...(signal ? { signal } : {}) })
      .then((reply) => reply.text())
      .catch(() => 'lost');
  const [one, two] = [newKey(), newKey()];
  await cell.programme({ fault: 'hold_before', key: one });
  await cell.programme({ fault: 'drop_reply', key: one });
  const leaving = new AbortController();
  const sent = ask('PUT', one, leaving.signal);
  await cell.wait('held', { key: one });
  expect([await ask('GET', one), await ask('PUT', two)]).toEqual(['done', 'done']);
  expect(await cell.counts(one)).toEqual({ writes: 0, received: 1, inHand: 1 });
  leaving.abort();
  expect(await sent).toBe('lost');
  await cell.release(one);
  await cell.wait('committed', { key: one });
  expect(await cell.counts(one)).toMatchObject({ writes: 1, received: 1 });
  expect(await ask('PUT', one)).toBe('lost');
  expect(await ask('PUT', one)).toBe('done');
  expect(await cell.counts(one)).toEqual({ writes: 3, received: 3, inHand: 0 });
  await line.close();
});
