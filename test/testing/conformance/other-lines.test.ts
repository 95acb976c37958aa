/**
 * Sinks that are reached otherwise than by HTTP.
 *
 * - A child process that is spoken to over its standard input and output has every fault of a line, by the same proxy.
 * - A sink in this process, with no line at all: what needs one is not applicable, and nothing else is.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe } from 'vitest';
import type { EffectSink, SinkAnswer, SinkItem } from '../../../src/ports';
import { sinkConformance, type Reach } from '../../../src/testing';
import { conforms, NO_LINE, OF_KEYS, OF_MEANING, type Expected } from '../../support/conformance';

const BARE: Expected = {
  none: /no start-up self-test/,
  refusal: /no operation that the sink refuses/,
  duplicate_rows: /no second write/,
  expired_key: /cannot be aged/,
};

describe('a child process on standard input and output', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'stdio-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'rows');
  /** Answers each line with one: a greeting first, so that a call takes several turns. */
  const SERVER = `
    const fs = require('node:fs');
    const rows = () => (fs.existsSync(${JSON.stringify(file)}) ? fs.readFileSync(${JSON.stringify(file)}, 'utf8') : '');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { hello, write, read } = JSON.parse(line);
      if (write) fs.appendFileSync(${JSON.stringify(file)}, write.key + ' ' + write.digest + '\\n');
      const found = read && rows().split('\\n').find((row) => row.startsWith(read));
      console.log(JSON.stringify(hello ? 'welcome' : write ? 'written' : found ? found.split(' ')[1] : null));
    });`;

  /** One process a call, ended with it. */
  function ask(reach: Reach, request: unknown, signal: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const child = spawn(reach.stdio.command, reach.stdio.args, { stdio: ['pipe', 'pipe', 'ignore'] });
      const fail = (): void => {
        child.kill('SIGKILL');
        reject(new Error('no answer'));
      };
      if (signal.aborted) return fail();
      signal.addEventListener('abort', fail, { once: true });
      child.once('close', fail);
      child.stdin.on('error', () => undefined);
      child.stdin.write('{"hello":true}\n');
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line === '"welcome"') return void child.stdin.write(`${JSON.stringify(request)}\n`);
        try {
          resolve(JSON.parse(line));
        } catch {
          reject(new Error('half an answer')); // what came before the line was cut
        }
        child.kill('SIGKILL');
      });
    });
  }

  const makeSink = (reach: Reach): EffectSink => ({
    kind: 'local_tool',
    lookup: 'authoritative',
    enforcesKey: 'no',
    deadlineMs: 10_000,
    settleMs: 500,
    observe: (items, { signal }) =>
      Promise.all(
        items.map(async ({ idempotencyKey }): Promise<SinkAnswer> => {
          const digest = (await ask(reach, { read: idempotencyKey }, signal)) as string | null;
          return digest === null
            ? { state: 'absent' }
            : { state: 'committed', operationDigest: digest, externalId: null };
        }),
      ),
    dispatch: async ({ idempotencyKey: key, operationDigest: digest, operation }, { signal }) => {
      await ask(reach, { write: { key, digest, operation } }, signal);
      return { outcome: 'accepted', externalId: null };
    },
  });

  conforms(
    sinkConformance(makeSink, {
      target: { command: process.execPath, args: ['-e', SERVER] },
      patienceMs: 1_000,
      operation: (text) => ({ note: text }),
      writes: ({ idempotencyKey }) =>
        existsSync(file) ? readFileSync(file, 'utf8').split(idempotencyKey).length - 1 : 0,
    }),
    { ...BARE, ...OF_MEANING, ...OF_KEYS },
  );
});

describe('a sink in this process', () => {
  const rows = new Map<string, string>();
  const answer = ({ idempotencyKey }: SinkItem): SinkAnswer => {
    const digest = rows.get(idempotencyKey);
    return digest === undefined
      ? { state: 'absent' }
      : { state: 'committed', operationDigest: digest, externalId: null };
  };
  const sink: EffectSink = {
    kind: 'local_tool',
    lookup: 'authoritative',
    enforcesKey: 'always',
    deadlineMs: 1_000,
    settleMs: 0,
    observe: async (items) => items.map(answer),
    dispatch: async ({ idempotencyKey: key, operationDigest: digest }) => {
      if ((rows.get(key) ?? digest) !== digest) throw new Error('another operation has this key');
      rows.set(key, digest);
      return { outcome: 'accepted', externalId: null };
    },
  };
  conforms(
    sinkConformance(() => sink, {
      operation: (text) => ({ note: text }),
      writes: ({ idempotencyKey }) => (rows.has(idempotencyKey) ? 1 : 0),
    }),
    {
      ...BARE,
      ...OF_MEANING,
      lost_request: NO_LINE,
      reset: NO_LINE,
      lost_reply: NO_LINE,
      cut_anywhere: NO_LINE,
      late_commit: NO_LINE,
      late_original: NO_LINE,
      aborted: NO_LINE,
      lookup_timeout: NO_LINE,
      lookup_lost: NO_LINE,
      slow_drip: NO_LINE,
    },
  );
});
