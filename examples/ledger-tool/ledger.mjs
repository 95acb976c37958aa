#!/usr/bin/env node
/**
 * A local tool that changes a file: it appends one line for each run, with the idempotency key and the operation's digest.
 *
 * It does not enforce keys: run twice, it appends twice, so the number of lines under a key is the number of effects.
 *
 *   ledger.mjs append FILE [--before MS] [--after MS]   standard input: any JSON; waits before or after the line is written
 *   ledger.mjs lookup FILE                              standard input: {"keys": […]}; prints {"answers": […]}
 *   ledger.mjs count  FILE                              prints {"counts": {key: lines}}
 */
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const [, , command, file, ...rest] = process.argv;

function option(name) {
  const at = rest.indexOf(name);
  return at < 0 ? 0 : Number(rest[at + 1]);
}

/** Lines of the ledger; one that was torn by a crash was never acknowledged and does not count. */
function lines() {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .flatMap((line, index) => {
      try {
        return [{ number: index + 1, ...JSON.parse(line) }];
      } catch {
        return [];
      }
    });
}

function append(entry) {
  const descriptor = openSync(file, 'a+', 0o600);
  try {
    const { size } = fstatSync(descriptor);
    const last = Buffer.alloc(1);
    const torn = size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
    writeSync(descriptor, `${torn ? '\n' : ''}${JSON.stringify(entry)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const answer = (entry) =>
  entry
    ? {
        state: 'committed',
        operation_digest: entry.digest,
        external_id: `line-${entry.number}`,
        result: { line: entry.number },
      }
    : { state: 'absent' };

/** Of two lines under one key, nobody but a person can say which one counts. */
const known = (found) => (found.length > 1 ? { state: 'unknown' } : answer(found[0]));

const input = () => JSON.parse(readFileSync(0, 'utf8'));
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const COMMANDS = {
  append: async () => {
    const operation = input();
    const key = process.env.COUNTERSIGN_IDEMPOTENCY_KEY;
    const digest = process.env.COUNTERSIGN_OPERATION_DIGEST;
    if (!key || !digest) process.exit(64);
    await delay(option('--before'));
    append({ key, digest, operation });
    await delay(option('--after'));
    const { external_id, result } = answer(lines().find((line) => line.key === key));
    print({ external_id, result });
  },
  lookup: () => {
    const found = lines();
    print({ answers: input().keys.map((key) => known(found.filter((line) => line.key === key))) });
  },
  count: () => {
    const counts = {};
    for (const { key } of lines()) counts[key] = (counts[key] ?? 0) + 1;
    print({ counts });
  },
};

if (!Object.hasOwn(COMMANDS, command) || !file) {
  process.stderr.write('usage: ledger.mjs append|lookup|count FILE\n');
  process.exit(64);
}
await COMMANDS[command]();
