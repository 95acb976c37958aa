/**
 * Properties of the S3 store against a real server (versitygw):
 * - 16 processes that create the same entries, with different bytes or the same: one winner for each, of whom the bytes are
 * - the server is killed over and over in the middle of PUTs: what was acknowledged is there whole, nothing is told as `created` twice,
 *   and nothing is there that nobody created
 * - the server is frozen, or away for a while: creates, reads and lists fail as store_unavailable within their time, and the same store
 *   goes on by itself afterwards
 * - a create whose answer is lost is still told `created`, and to nobody else
 */
import net from 'node:net';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { parseS3Address, s3Store, type S3StoreOptions } from '../../../src/adapters/stores';
import { StoreError } from '../../../src/ports';
import { describeWith } from '../../systems/available';
import { startVersitygw } from '../../systems/versitygw';
import { Child } from './child-process';
import { type Action } from './s3-child';
import { bytes, text } from './values';

const PROCESSES = 16;
const LONG = { timeout: 120_000 };

afterEach(() => vi.unstubAllEnvs());

describeWith('versitygw', startVersitygw, (server) => {
  const place = async (more: Partial<S3StoreOptions> = {}): Promise<S3StoreOptions> => ({
    ...server.settings,
    bucket: await server.makeBucket(),
    timeoutMs: 500,
    ...more,
  });

  it('16 processes have one winner for every entry, with different bytes and with the same', LONG, async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', server.access.accessKeyId);
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.access.secretAccessKey);
    const address = `s3://${await server.makeBucket()}/journal?endpoint=${server.endpoint}`;
    const store = s3Store(parseS3Address(address));
    const children = await Promise.all(
      Array.from({ length: PROCESSES }, () => Child.start<Action>('s3-child.ts', [address])),
    );
    const race = async (run: string, loser: string, value: (process: number) => string): Promise<void> => {
      const lineage = Array.from({ length: 15 }, (_, index) => `${run}/lineage-0001/checkpoint-${index}`);
      const entries = [`${run}/sends/key/0001`, ...lineage];
      const outcomes = (await Promise.all(
        children.map((child, index) => child.ask({ entries, value: value(index) })),
      )) as string[][];
      for (const [index, entry] of entries.entries()) {
        const told = outcomes.map((all) => all[index]);
        expect(told.filter((outcome) => outcome === 'created')).toHaveLength(1);
        expect(told.filter((outcome) => outcome === loser)).toHaveLength(PROCESSES - 1);
        expect(text(await store.read(entry))).toBe(value(told.indexOf('created')));
      }
    };
    await race('different', 'conflict', (process) => `process ${process}`);
    await race('same', 'identical', () => 'the same');
    await Promise.all(children.map((child) => child.end()));
  });

  it('killed in the middle of PUTs: loses, tears and doubles nothing', LONG, async () => {
    const store = s3Store(await place());
    await store.create('begin', bytes('x'));
    const content = (name: string): Uint8Array => new Uint8Array(Buffer.alloc(1_500_000, name));
    const created = new Map<string, number>();
    let over = false;
    const writer = async (id: number): Promise<void> => {
      for (let at = 0; !over; at += 1) {
        const name = `writer-${id}-${at}`;
        for (let settled = false; !settled;) {
          try {
            // Nobody else writes it: `identical` only where an earlier try of ours was given up as unknown.
            if ((await store.create(name, content(name))) === 'conflict') throw new Error(`${name} is somebody else's`);
            created.set(name, (created.get(name) ?? 0) + 1);
            settled = true;
          } catch (fault) {
            if (!(fault instanceof StoreError) || fault.code !== 'store_unavailable') throw fault;
            if (over) return;
          }
        }
      }
    };
    const writers = [0, 1, 2, 3].map(writer);
    for (let kills = 0; kills < 6; kills += 1) {
      const enough = created.size + 4;
      while (created.size < enough) await delay(5);
      await server.kill();
      await server.start();
    }
    over = true;
    await Promise.all(writers);
    const names = (await store.list('')).filter((name) => name !== 'begin');
    expect([...created.keys()].filter((name) => !names.includes(name))).toEqual([]);
    for (const name of names) {
      expect(name).toMatch(/^writer-\d-\d+$/);
      expect(Buffer.compare((await store.read(name)) ?? bytes(''), content(name))).toBe(0);
    }
  });

  it.each([
    ['frozen', () => server.freeze(), () => server.thaw()],
    ['away', () => server.kill(), () => server.start()],
  ])('%s: everything fails as store_unavailable, and goes on by itself', LONG, async (_state, begin, end) => {
    const store = s3Store(await place());
    await store.create('before', bytes('x'));
    await begin();
    const calls = [store.create('meanwhile', bytes('x')), store.read('before'), store.list('')];
    const told = await Promise.allSettled(calls);
    await end();
    for (const { status, reason } of told as PromiseRejectedResult[]) {
      expect([status, (reason as StoreError).code]).toEqual(['rejected', 'store_unavailable']);
    }
    expect(['created', 'identical']).toContain(await store.create('meanwhile', bytes('x')));
    expect([await store.list(''), text(await store.read('before'))]).toEqual([['before', 'meanwhile'], 'x']);
  });

  it('tells created, and once, where the answer to a PUT is lost', LONG, async () => {
    const options = await place();
    const cut = await cutAnswers(server.server.port);
    try {
      const store = s3Store({ ...options, endpoint: `http://127.0.0.1:${cut.port}` });
      await store.create('begin', bytes('x'));
      for (let round = 0; round < 8; round += 1) {
        const name = `entry-${round}`;
        cut.next();
        const value = bytes(randomBytes(8).toString('hex'));
        expect(await store.create(name, value)).toBe('created');
        expect(await s3Store(options).create(name, value)).toBe('identical');
      }
      expect(cut.cuts()).toBe(8);
    } finally {
      cut.end();
    }
  });
});

/** A way to the server on which the answer to the next PUT is thrown away, and its connection closed. */
async function cutAnswers(port: number) {
  let armed = false;
  let cuts = 0;
  const open = new Set<net.Socket>();
  const proxy = net.createServer((client) => {
    const upstream = net.connect(port, '127.0.0.1');
    let cutting = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [client, upstream].forEach((one) => one.destroy()));
    }
    client.on('data', (chunk: Buffer) => {
      if (armed && chunk.subarray(0, 4).toString('latin1') === 'PUT ') [armed, cutting] = [false, true];
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!cutting) return void client.write(chunk);
      cuts += 1;
      client.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as net.AddressInfo).port,
    next: () => void (armed = true),
    cuts: () => cuts,
    end: () => {
      for (const socket of open) socket.destroy();
      proxy.close();
    },
  };
}
