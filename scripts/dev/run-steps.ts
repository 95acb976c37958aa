/**
 * Runs the steps in order and stops at the first that fails: `run-steps [NAME …]` (default: all). One line a step; the end of a
 * failed step's output; last of all `N passed, N failed`. Invariant: a step that is interrupted, or not done in its time, is ended
 * with all of its group.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { REPOSITORY } from './repository';
import { STEPS, type Step } from './steps';

const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const TAIL_LINES = 80;
const TAIL_CHARS = 2_000_000;
/** How the test runner names a test that failed, and why. */
const FAILED = /^ *(FAIL {2}|AssertionError|\w*Error: )/;
const COLOURS = new RegExp(String.raw`${String.fromCharCode(27)}\[[0-9;]*m`, 'g');

interface Outcome {
  readonly failure: string | null;
  readonly output: string;
}

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !STEPS.some((step) => step.name === name));
  if (unknown !== undefined) {
    console.error(`There is no step "${unknown}"; the steps are ${STEPS.map(({ name }) => name).join(', ')}.`);
    return 2;
  }
  const steps = STEPS.filter(({ name }) => names.length === 0 || names.includes(name));
  let passed = 0;
  for (const step of steps) {
    process.stdout.write(`[${passed + 1}/${steps.length}] ${step.name} … `);
    const from = performance.now();
    const { failure, output } = await run(step);
    const seconds = `${((performance.now() - from) / 1_000).toFixed(1)}s`;
    if (failure !== null) {
      console.log(`failed ${seconds} (${failure})\n\n${tail(output)}\n`);
      break;
    }
    const told = step.tells?.exec(output);
    console.log(`ok ${seconds}${told ? ` (${(told[1] ?? told[0]).trim()})` : ''}`);
    passed += 1;
  }
  const failed = passed < steps.length ? 1 : 0;
  console.log(`${passed} passed, ${failed} failed`);
  return failed;
}

function run({ run: [program, ...args], limitMinutes }: Step): Promise<Outcome> {
  const bin = path.join(REPOSITORY, 'node_modules', '.bin');
  return new Promise((resolve) => {
    let output = '';
    let failure: string | null = null;
    const child = spawn(program, args, {
      cwd: REPOSITORY,
      detached: true, // a group of its own, so that all of it can be ended
      env: { ...process.env, PATH: `${bin}${path.delimiter}${process.env['PATH'] ?? ''}`, FORCE_COLOR: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const endGroup = (why: string): void => {
      failure = why;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    };
    const limit = setTimeout(() => endGroup(`not done in ${limitMinutes} minutes`), limitMinutes * 60_000);
    const interrupted = (signal: NodeJS.Signals): void => endGroup(signal);
    for (const signal of INTERRUPTS) process.once(signal, interrupted);
    const done = (how: string | null): void => {
      clearTimeout(limit);
      for (const signal of INTERRUPTS) process.off(signal, interrupted);
      resolve({ failure: failure ?? how, output: output.replace(COLOURS, '') });
    };
    const keep = (chunk: string): void => void (output = (output + chunk).slice(-TAIL_CHARS));
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', (error) => done(error.message));
    child.once('close', (code, signal) => done(code === 0 ? null : (signal ?? `exit code ${code}`)));
  });
}

/** What failed by name, for whatever comes after a failure may be longer than the end that is shown; then that end. */
function tail(output: string): string {
  const lines = output.trimEnd().split('\n');
  const named = lines.slice(0, -TAIL_LINES).filter((line) => FAILED.test(line));
  return [...new Set(named), ...lines.slice(-TAIL_LINES)].join('\n');
}

void main(process.argv.slice(2)).then((code) => (process.exitCode = code));
