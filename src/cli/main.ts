#!/usr/bin/env node
/** The `countersign` program: arguments in, exit code out. Invariant: Ctrl-C is only ever a request to stop watching. */
import { runCli } from './program';

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
process.once('SIGTERM', () => interrupt.abort());

const streams = {
  out: (text: string): void => void process.stdout.write(text),
  err: (text: string): void => void process.stderr.write(text),
};
// A reader that goes away (`| head`) is no fault of ours.
process.stdout.on('error', () => undefined);

void runCli(process.argv.slice(2), streams, interrupt.signal).then((code) => {
  // When all is written: a poll that is still on its way need not be waited for.
  process.stdout.write('', () => process.exit(code));
});
