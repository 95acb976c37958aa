/**
 * A process that works on a store as its parent says: one message an action, one message an answer.
 * Arguments: the store's address, and optionally the step of a create in a folder at which it kills itself.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { becomeUnprivileged } from '../../../scripts/vectors/unprivileged';
import { fileStore, openContentStore, openStore } from '../../../src/adapters/stores';
import { bytes, text } from './values';

export type Action =
  | { readonly act: 'create'; readonly entries: readonly string[]; readonly value: string; readonly report?: boolean }
  | { readonly act: 'read' | 'delete'; readonly entry: string }
  | { readonly act: 'list'; readonly prefix: string }
  /** Opens files until the process may open no more; closed again by `release`. */
  | { readonly act: 'exhaust' | 'release' }
  | { readonly act: 'command'; readonly command: readonly [string, ...string[]] };

if (process.env.RUN_UNPRIVILEGED) becomeUnprivileged();
const [root, killAt] = process.argv.slice(2);
const address = root as string;
const store =
  killAt === undefined
    ? openStore(address)
    : fileStore(address, {
        onStep: (step) => {
          if (step === killAt) process.kill(process.pid, 'SIGKILL');
        },
      });
const held: number[] = [];

async function perform(action: Action): Promise<unknown> {
  switch (action.act) {
    case 'create': {
      const outcomes: string[] = [];
      for (const entry of action.entries) {
        outcomes.push(await store.create(entry, bytes(action.value)));
        if (action.report) process.send?.({ done: entry });
      }
      return outcomes;
    }
    case 'read':
      return text(await store.read(action.entry));
    case 'delete':
      return openContentStore(address).delete(action.entry);
    case 'list':
      return store.list(action.prefix);
    case 'exhaust':
      try {
        for (;;) held.push(fs.openSync('/dev/null', 'r'));
      } catch {
        return held.length;
      }
    case 'release':
      return held.splice(0).forEach((fd) => fs.closeSync(fd));
    case 'command':
      return execFileSync(action.command[0], action.command.slice(1)).toString();
  }
}

process.on('message', (action: Action) => {
  perform(action).then(
    (value) => process.send?.({ value }),
    (error: { code?: string; message: string }) => process.send?.({ code: error.code, message: error.message }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
