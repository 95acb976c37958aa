/**
 * The command line as a whole. Invariant: every command ends in one `Answer`, whatever happens on the way, and the exit code
 * is that answer's; nothing is printed after it.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Command, CommanderError } from 'commander';
import { anchorCommand } from './commands/anchor';
import { approvalsCommand } from './commands/approvals';
import { contentsCommand } from './commands/contents';
import { exportCommand } from './commands/export';
import { inboxCommand } from './commands/inbox';
import { inspectCommand } from './commands/inspect';
import { invocationsCommand } from './commands/invocations';
import { journalCommand } from './commands/journal';
import { keysCommand } from './commands/keys';
import { lsCommand } from './commands/ls';
import { planCommand } from './commands/plan';
import { previewCommand } from './commands/preview';
import { queuesCommand } from './commands/queues';
import { resumeCommand } from './commands/resume';
import { reviewsCommand } from './commands/reviews';
import { runCommand } from './commands/run';
import { sessionsCommand } from './commands/sessions';
import { sinkCheckCommand } from './commands/sink-check';
import { verifyCommand } from './commands/verify';
import { verifyRunCommand } from './commands/verify-run';
import { workflowCommand } from './commands/workflow';
import { EXIT } from './exit-codes';
import { failureOf } from './failure';
import type { Act, Register } from './command';
import { Output, PROGRAM, type Answer, type Streams } from './output';

const COMMANDS: readonly Register[] = [
  planCommand,
  runCommand,
  resumeCommand,
  previewCommand,
  lsCommand,
  inspectCommand,
  verifyCommand,
  verifyRunCommand,
  exportCommand,
  journalCommand,
  anchorCommand,
  contentsCommand,
  keysCommand,
  approvalsCommand,
  reviewsCommand,
  sessionsCommand,
  invocationsCommand,
  queuesCommand,
  inboxCommand,
  workflowCommand,
  sinkCheckCommand,
];

export async function runCli(args: readonly string[], streams: Streams, interrupted: AbortSignal): Promise<number> {
  const output = new Output(streams, args.includes('--json'));
  let name: string = PROGRAM;
  let answer: Answer | null = null;
  const act: Act =
    (command, action) =>
    async (...given) => {
      name = command;
      answer = await action({ output, interrupted }, ...given);
    };
  const program = build(act, streams, output);
  name = askedFor(program, args);
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (fault) {
    if (fault instanceof CommanderError && fault.exitCode === EXIT.done) return EXIT.done; // help or version was shown
    answer = { failure: failureOf(fault) };
  }
  return output.finish(name, answer ?? {});
}

function build(act: Act, streams: Streams, output: Output): Command {
  const program = new Command(PROGRAM)
    .description(
      'Governed plans on Temporal: each effect exactly once, each decision in a chain that anyone can verify.',
    )
    .version(version())
    .showSuggestionAfterError(false)
    .exitOverride()
    .configureOutput({
      writeOut: streams.out,
      writeErr: (text) => (output.json ? undefined : streams.err(text)),
      outputError: () => undefined, // said once, by the answer
    });
  for (const register of COMMANDS) register(program, act);
  for (const command of within(program)) {
    if (command.commands.length === 0) command.option('--json', 'print one JSON object instead of text');
    command.copyInheritedSettings(program);
  }
  return program;
}

/** What a command that is never run, for want of an option of its own, is called all the same. */
function askedFor(program: Command, args: readonly string[]): string {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const known: string[] = [];
  for (let at = program; ;) {
    const next = at.commands.find((one) => one.name() === words[known.length]);
    if (next === undefined) return known.join(' ') || (words[0] ?? PROGRAM);
    known.push(next.name());
    at = next;
  }
}

function within(command: Command): readonly Command[] {
  return command.commands.flatMap((one) => [one, ...within(one)]);
}

function version(): string {
  const file = path.join(__dirname, '../../package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
