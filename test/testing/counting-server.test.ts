/**
 * The counting server and the three test sinks, over real sockets.
 *
 * - Each mode of the server keeps what its sink declares: one write a key, or one a send.
 * - Every fault has its effect on the state and on the client, for writes and for look-ups.
 * - A held write goes on after the client that sent it is gone; `wait` sees each moment.
 * - No content of a write is told by the admin API, the sinks' errors or the server process's output.
 */
import { execPath } from 'node:process';
import { spawn } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EffectSink, SinkItem } from '../../src/ports';
import {
  COUNTING_MODES,
  type CountingMode,
  countingSink,
  FAULT_KINDS,
  type Fault,
  type FaultKind,
  SinkAdmin,
  type SinkServer,
  startCountingServer,
} from '../../src/testing';

const SECRET = 'planted-secret-4711';
let next = 0;
const item = (over: Partial<SinkItem> = {}): SinkItem => ({
  toolId: 'tool:example.org/count@1.0.0',
  actionId: 'action:example.org/count-1',
  idempotencyKey: `key-${++next}`,
  operationDigest: 'a'.repeat(64),
  operation: { note: SECRET },
  ...over,
});
const context = (signal = new AbortController().signal): { signal: AbortSignal; deadlineMs: number } => ({
  signal,
  deadlineMs: 5000,
});

let server: SinkServer;
let admin: SinkAdmin;
const sinks = {} as Record<CountingMode, EffectSink>;
const state = async (mode: CountingMode, of: SinkItem): Promise<string> =>
  (await sinks[mode].observe([of], context()))[0]?.state ?? 'none';

beforeAll(async () => {
  server = await startCountingServer();
  admin = new SinkAdmin(server.url);
  for (const mode of COUNTING_MODES) sinks[mode] = countingSink({ url: server.url, mode });
});
afterAll(() => server.close());

describe('modes', () => {
  test.each<[CountingMode, number, string]>([
    ['enforcing', 1, 'committed'],
    ['lookup', 3, 'committed'],
    ['blind', 3, 'unknown'],
  ])('%s: three sends make %i writes, and a look-up says %s', async (mode, writes, found) => {
    const one = item();
    for (let i = 0; i < 3; i++) {
      expect((await sinks[mode].dispatch(one, context())).outcome).toBe('accepted');
    }
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes, received: 3 });
    expect(await state(mode, one)).toBe(found);
  });

  test('enforcing: eight sends at once make one write, and all learn the same id', async () => {
    const one = item();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => sinks.enforcing.dispatch(one, context())));
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect((await admin.counts(one.idempotencyKey)).keys[0]).toMatchObject({ writes: 1, replayed: 7 });
  });

  test('enforcing: the same key with another digest is never a success', async () => {
    const one = item();
    await sinks.enforcing.dispatch(one, context());
    const other = { ...one, operationDigest: 'b'.repeat(64) };
    await expect(sinks.enforcing.dispatch(other, context())).rejects.toMatchObject({ code: 'key_reused' });
    expect((await sinks.enforcing.observe([other], context()))[0]).toMatchObject({ operationDigest: 'a'.repeat(64) });
  });

  test('a batched look-up answers in the order of its items', async () => {
    const items = [item(), item(), item()];
    await sinks.lookup.dispatch(items[1] as SinkItem, context());
    const answers = await sinks.lookup.observe(items, context());
    expect(answers.map((answer) => answer.state)).toEqual(['absent', 'committed', 'absent']);
  });
});

type Ending = 'accepted' | 'refused' | 'not_sent' | 'unknown';
/** What the client learns, and how many writes there are once everything has settled. */
const WRITE_FAULTS: Record<FaultKind, { programme: Partial<Fault>; ending: Ending; writes: number }[]> = {
  drop_request: [{ programme: {}, ending: 'unknown', writes: 0 }],
  reset: [{ programme: {}, ending: 'unknown', writes: 0 }],
  drop_reply: [{ programme: {}, ending: 'unknown', writes: 1 }],
  late_commit: [{ programme: { delayMs: 20 }, ending: 'unknown', writes: 1 }],
  delay_before: [{ programme: { delayMs: 5 }, ending: 'accepted', writes: 1 }],
  delay_after: [{ programme: { delayMs: 5 }, ending: 'accepted', writes: 1 }],
  hold_before: [],
  hold_after: [],
  status: [
    { programme: { status: 429, retryAfterMs: 2000 }, ending: 'not_sent', writes: 0 },
    { programme: { status: 409 }, ending: 'unknown', writes: 0 },
    { programme: { status: 422 }, ending: 'unknown', writes: 0 },
    { programme: { status: 400 }, ending: 'refused', writes: 0 },
    { programme: { status: 503 }, ending: 'unknown', writes: 0 },
    { programme: { status: 307 }, ending: 'unknown', writes: 0 },
  ],
  status_after_commit: [{ programme: { status: 500 }, ending: 'unknown', writes: 1 }],
  stale_lookup: [],
  wrong_digest: [],
  in_flight: [],
  drop_filter: [],
};

describe.each(COUNTING_MODES)('write faults before %s', (mode) => {
  const rows = FAULT_KINDS.flatMap((fault) => WRITE_FAULTS[fault].map((row) => ({ fault, ...row })));
  test.each(rows)('$fault $programme ends as $ending', async ({ fault, programme, ending, writes }) => {
    const one = item();
    await admin.programme({ fault, key: one.idempotencyKey, ...programme });
    const outcome = await sinks[mode].dispatch(one, context()).catch((error: unknown) => error);
    if (outcome instanceof Error) {
      expect(ending).toBe('unknown');
      expect(`${outcome.stack} ${JSON.stringify(outcome)}`).not.toContain(SECRET);
    } else expect(outcome).toMatchObject({ outcome: ending });
    if (writes > 0) await admin.wait('committed', { key: one.idempotencyKey });
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes, received: 1 });
  });
});

describe('held writes', () => {
  test.each<['hold_before' | 'hold_after', 'continue' | 'drop', number]>([
    ['hold_before', 'continue', 1],
    ['hold_before', 'drop', 0],
    ['hold_after', 'continue', 1],
    ['hold_after', 'drop', 1],
  ])('%s, given up by the client, then %s: %i writes', async (fault, how, writes) => {
    const one = item();
    const giveUp = new AbortController();
    await admin.programme({ fault, key: one.idempotencyKey });
    const sent = sinks.lookup.dispatch(one, context(giveUp.signal));
    const held = await admin.wait('held', { key: one.idempotencyKey });
    expect(held.pid).toBe(process.pid);
    expect(await admin.held()).toContain(one.idempotencyKey);
    expect(await state('lookup', one)).toBe(fault === 'hold_after' ? 'committed' : 'absent');
    giveUp.abort();
    await expect(sent).rejects.toMatchObject({ code: 'deadline_passed' });
    expect(await admin.release(one.idempotencyKey, how)).toBe(1);
    if (writes === 1) await admin.wait('committed', { key: one.idempotencyKey });
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes });
  });

  test('a send that is given up before it is connected is proven not sent', async () => {
    const one = item();
    expect(await sinks.blind.dispatch(one, context(AbortSignal.abort()))).toEqual({ outcome: 'not_sent' });
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ received: 0 });
  });

  test('nobody listens: not sent, and a look-up says so by throwing', async () => {
    const gone = await startCountingServer();
    await gone.close();
    const sink = countingSink({ url: gone.url, mode: 'lookup' });
    expect(await sink.dispatch(item(), context())).toEqual({ outcome: 'not_sent' });
    await expect(sink.observe([item()], context())).rejects.toMatchObject({ code: 'not_reachable' });
  });
});

describe('look-up faults', () => {
  test('stale, wrong, in flight, then the truth', async () => {
    const one = item();
    const { idempotencyKey: key } = one;
    await sinks.lookup.dispatch(one, context());
    await admin.programme(
      { fault: 'stale_lookup', key, delayMs: 3_600_000 },
      { fault: 'wrong_digest', key },
      { fault: 'in_flight', key, retryAfterMs: 250 },
      { fault: 'drop_request', key, on: 'lookup' },
    );
    const look = async (): Promise<unknown> => (await sinks.lookup.observe([one], context()))[0];
    expect(await look()).toEqual({ state: 'absent' });
    expect(await look()).toMatchObject({ state: 'committed', operationDigest: `sha256:${'0'.repeat(64)}` });
    expect(await look()).toEqual({ state: 'in_flight', retryAfterMs: 250 });
    await expect(look()).rejects.toMatchObject({ code: 'connection_lost' });
    expect(await look()).toMatchObject({ state: 'committed', operationDigest: 'a'.repeat(64) });
  });
});

describe('admin API', () => {
  test.each([
    [{ fault: 'explode' }, 'fault'],
    [{ fault: 'late_commit' }, 'delay_ms'],
    [{ fault: 'status' }, 'status'],
    [{ fault: 'reset', times: -1 }, 'times'],
    [{ fault: 'reset', on: 'both' }, 'on'],
  ])('refuses %j and names the field', async (fault, field) => {
    const response = await fetch(`${server.url}/admin/faults`, { method: 'POST', body: JSON.stringify(fault) });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ field });
  });

  test('a fault strikes as often as told, one a request', async () => {
    const one = item();
    await admin.programme(
      { fault: 'status', status: 503, key: one.idempotencyKey, times: 2 },
      { fault: 'drop_reply', key: one.idempotencyKey },
    );
    const codes = [];
    for (let i = 0; i < 4; i++) {
      codes.push(
        await sinks.lookup.dispatch(one, context()).then(
          (ok) => ok.outcome,
          (error: { code: string }) => error.code,
        ),
      );
    }
    expect(codes).toEqual(['unexpected_status', 'unexpected_status', 'connection_lost', 'accepted']);
    expect(await admin.counts(one.idempotencyKey)).toMatchObject({ writes: 2 });
  });

  test('waiting for what does not happen ends with an error', async () => {
    await expect(admin.wait('committed', { key: 'never', timeoutMs: 1 })).rejects.toThrow('408');
  });

  test('tells no content', async () => {
    const one = item();
    await sinks.enforcing.dispatch(one, context());
    const told = JSON.stringify([await admin.log(), await admin.counts()]);
    expect(told).toContain(one.idempotencyKey);
    expect(told).not.toContain(SECRET);
  });
});

test('runs as its own process, says where on its first line, and says nothing else', async () => {
  const main = path.resolve(__dirname, '../../src/testing/counting-server-main.ts');
  const child = spawn(execPath, ['--import', 'tsx', main], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk.toString()));
  const lines = readline.createInterface({ input: child.stdout });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const first = JSON.parse(await new Promise<string>((resolve) => lines.once('line', resolve))) as {
    url: string;
    pid: number;
  };
  lines.on('line', (line) => output.push(line));
  expect(first.pid).toBe(child.pid);
  const sink = countingSink({ url: first.url, mode: 'enforcing' });
  const one = item();
  expect((await sink.dispatch(one, context())).outcome).toBe('accepted');
  expect(await new SinkAdmin(first.url).counts(one.idempotencyKey)).toMatchObject({ writes: 1 });
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(output).toEqual([]);
});
