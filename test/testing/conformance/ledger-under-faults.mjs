/**
 * The ledger tool as it may fail: killed before or after its line is written, held up, never done, or writing later than anyone waits.
 * Invariant: a fault strikes one run; `FOLDER/fault` names it, and `FOLDER/struck` shows that it was met.
 *
 *   ledger-under-faults.mjs FOLDER append|lookup FILE
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const [, self, folder, command, file] = process.argv;
const LEDGER = fileURLToPath(new URL('../../../examples/ledger-tool/ledger.mjs', import.meta.url));
const at = (name) => path.join(folder, name);

function takeFault() {
  try {
    renameSync(at('fault'), at('struck'));
    return readFileSync(at('struck'), 'utf8');
  } catch {
    return 'none';
  }
}

const input = readFileSync(0, 'utf8');
const run = () => spawnSync(process.execPath, [LEDGER, command, file], { input, encoding: 'utf8' });
const forEver = () => delay(600_000);
const die = () => process.kill(process.pid, 'SIGKILL');

const FAULTS = {
  none: () => process.stdout.write(run().stdout),
  lose: () => process.exit(1),
  reset: die,
  lose_reply: () => {
    run();
    die();
  },
  // What a tool leaves behind in a session of its own outlives it: nobody can end that.
  hold: async () => {
    const later = spawn(process.execPath, [self, folder, 'later', file], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    later.stdin.end(input);
    later.unref();
    await forEver();
  },
  stall: async () => {
    run();
    await forEver();
  },
  drip: async () => {
    const { stdout } = run();
    for (const letter of stdout.slice(0, -2)) {
      process.stdout.write(letter);
      await delay(50);
    }
    await forEver();
  },
};

if (command === 'later') {
  while (existsSync(folder) && !existsSync(at('release'))) await delay(20);
  if (existsSync(folder)) spawnSync(process.execPath, [LEDGER, 'append', file], { input });
  if (existsSync(folder)) writeFileSync(at('answered'), '');
} else {
  await FAULTS[takeFault()]();
}
