/**
 * What `./temporal-dev.sh test`, and so CI, runs: the one list of it. Invariant: a step is a command that ends by itself, ends
 * with 0 only when it found nothing wrong, and needs nothing that an earlier step or `npm ci` has not made.
 */
import { FAULT_NAMES, rowOf } from '../kill-matrix/rows';

export interface Step {
  readonly name: string;
  /** A program of node_modules/.bin, or `npm`, and its arguments. */
  readonly run: readonly [program: string, ...args: string[]];
  readonly limitMinutes: number;
  /** The line of its output worth showing when it passes. */
  readonly tells?: RegExp;
}

/** Every sink on journals in folders; on each of the other stores one that leaves most to the engine, so that it ends in time. */
const killMatrix = (name: string, options: readonly string[], limitMinutes: number): Step => ({
  name,
  run: ['npm', 'run', '--silent', 'kill-matrix', '--', ...options],
  limitMinutes,
  tells: /^\d+ cells, .*$/m,
});

const UNPAUSED = FAULT_NAMES.filter((name) => rowOf(name).slow !== true).join(',');

export const STEPS: readonly Step[] = [
  { name: 'lint', run: ['eslint', '.'], limitMinutes: 10 },
  { name: 'format', run: ['prettier', '--check', '--log-level', 'warn', '.'], limitMinutes: 5 },
  { name: 'types', run: ['npm', 'run', '--silent', 'typecheck'], limitMinutes: 5 },
  // Before the tests: the examples import the package by its name, and so what is built.
  { name: 'build', run: ['npm', 'run', '--silent', 'build'], limitMinutes: 5 },
  { name: 'tests', run: ['vitest', 'run'], limitMinutes: 75, tells: /^ *Tests +(.*)$/m },
  {
    name: 'vectors',
    run: ['npm', 'run', '--silent', 'vectors', '--', 'test/vectors'],
    limitMinutes: 10,
    tells: /^\d+ passed, \d+ failed.*$/m,
  },
  killMatrix('kill-matrix', ['--systems'], 50),
  killMatrix('kill-matrix-postgres-journal', ['--journal', 'postgres', '--sink', 'blind'], 20),
  // A paused worker costs Temporal's own time-outs; with a bucket's time for every entry on top, a loaded machine passes the bound.
  killMatrix('kill-matrix-s3-journal', ['--journal', 's3', '--sink', 'lookup', '--fault', UNPAUSED], 20),
  { name: 'package', run: ['publint', 'run', '--strict'], limitMinutes: 5 },
  { name: 'entries', run: ['attw', '--pack', '.'], limitMinutes: 5 },
];
