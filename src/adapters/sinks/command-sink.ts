/**
 * A local tool: one child process for each send, with the operation on its standard input or in its arguments.
 *
 * Invariant: no shell reads anything of the operation; the command runs with a declared environment only, knows the idempotency
 * key, and lives no longer than deadline + grace, also when this worker is killed.
 *
 * The command finds `COUNTERSIGN_IDEMPOTENCY_KEY` and `COUNTERSIGN_OPERATION_DIGEST` in its environment. Exit code 0 is accepted
 * (standard output empty, or JSON `{external_id?, result?}`); codes in `refusals` are refused, in `notSentExitCodes` not sent;
 * everything else is an unknown outcome. The look-up command reads `{"keys": […]}` and prints `{"answers": […]}`, one for each
 * key in order: `{state: absent | committed | in_flight | unknown, operation_digest?, external_id?, result?, retry_after_ms?}`.
 */
import { type EffectSink, type KeyEnforcement, type LookupStrength, type SideEffectClass } from '../../ports';
import { jsonObjectIn } from '../json-object';
import { type CommandEnd, runCommand } from './run-command';
import { parseSinkAnswer } from './sink-answer';
import { SinkError, type SinkErrorCode, type SinkErrorContext } from './sink-error';
import { fillTemplate } from './template';

/** What is run and how its exit codes and output are read; times are in milliseconds. */
export interface CommandSinkOptions {
  /** What errors call this sink. */
  readonly name: string;
  /** A path, or a name on the `PATH` that the command gets. */
  readonly command: string;
  /** Arguments; `{a.b}` is replaced by that field of the operation, always within its one argument. @default [] */
  readonly args?: readonly string[];
  /** What the command reads: the operation as JSON, or nothing. @default 'operation' */
  readonly input?: 'operation' | 'none';
  /** Names of this process's environment that the command may see. @default ['PATH'] */
  readonly passEnv?: readonly string[];
  /** Further variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly lookup?: {
    /** @default the same command */
    readonly command?: string;
    readonly args?: readonly string[];
    /** @default 'authoritative' */
    readonly strength?: Exclude<LookupStrength, 'none'>;
  };
  /** Whether the tool itself refuses a second run under one key. @default 'no' */
  readonly enforcesKey?: KeyEnforcement;
  readonly horizonMs?: number;
  /** @default 'non_idempotent_write' */
  readonly sideEffect?: SideEffectClass;
  /** Exit codes by which the tool says that it will never do this, and the word for each. */
  readonly refusals?: Readonly<Record<number, string>>;
  /** Exit codes by which the tool says that it has done nothing and may be asked again. */
  readonly notSentExitCodes?: readonly number[];
  /** @default 30000 */
  readonly deadlineMs?: number;
  /** Time between SIGTERM and SIGKILL. @default 2000 */
  readonly killGraceMs?: number;
  /** Time after which nothing of an ended command can still appear, beyond its grace. @default 2000 */
  readonly settleMs?: number;
  /** Largest standard output. @default 64 KiB */
  readonly maxOutputBytes?: number;
  readonly maxInFlight?: number;
}

const EARLY_END: Record<Exclude<CommandEnd['end'], 'exit' | 'not_started'>, SinkErrorCode> = {
  aborted: 'deadline_passed',
  output_too_large: 'output_too_large',
  killed: 'command_killed',
};

/** A value that starts an argument must not be taken for an option, and no argument can hold a NUL. */
const argument = (value: string, leading: boolean): string | null =>
  value.includes('\0') || (leading && value.startsWith('-')) ? null : value;

/** A program that is run once for each effect, and once for each look-up where it has one. Throws where the options cannot be kept. */
export function commandSink(options: CommandSinkOptions): EffectSink {
  const { name: sink, lookup, deadlineMs = 30_000, killGraceMs = 2000, settleMs = 2000 } = options;
  const inherited = (options.passEnv ?? ['PATH']).flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const env: Record<string, string> = { ...(Object.fromEntries(inherited) as Record<string, string>), ...options.env };

  const run = (
    file: string,
    args: readonly string[],
    given: { env?: Record<string, string>; input: string },
    signal: AbortSignal,
  ): Promise<CommandEnd> =>
    runCommand(
      {
        file,
        args,
        env: { ...env, ...given.env },
        cwd: options.cwd,
        input: given.input,
        maxOutputBytes: options.maxOutputBytes ?? 64 * 1024,
        killGraceMs,
        watchdogMs: deadlineMs + killGraceMs,
      },
      signal,
    );

  const failed = (ended: CommandEnd, context: SinkErrorContext): SinkError => {
    if (ended.end === 'not_started') return new SinkError('not_reachable', context);
    if (ended.end === 'exit') return new SinkError('command_failed', context, { detail: `exit=${ended.exitCode}` });
    return new SinkError(EARLY_END[ended.end], context);
  };

  return {
    kind: 'local_tool',
    sideEffect: options.sideEffect ?? 'non_idempotent_write',
    lookup: lookup ? (lookup.strength ?? 'authoritative') : 'none',
    enforcesKey: options.enforcesKey ?? 'no',
    deadlineMs,
    // The watchdog counts whole seconds, so it may end the command up to one second late.
    settleMs: killGraceMs + 1000 + settleMs,
    ...(options.horizonMs === undefined ? {} : { horizonMs: options.horizonMs }),
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),

    async observe(items, { signal }) {
      if (!lookup) return items.map(() => ({ state: 'unknown' }) as const);
      const keys = items.map((item) => item.idempotencyKey);
      const context = { sink, key: keys.join(' ') };
      const input = JSON.stringify({ keys });
      const ended = await run(lookup.command ?? options.command, lookup.args ?? [], { input }, signal);
      if (ended.end !== 'exit' || ended.exitCode !== 0) throw failed(ended, context);
      const answers = jsonObjectIn(ended.stdout)?.['answers'];
      if (!Array.isArray(answers) || answers.length !== items.length) throw new SinkError('output_invalid', context);
      return answers.map((answer) => {
        const parsed = parseSinkAnswer(answer);
        if (!parsed) throw new SinkError('output_invalid', context);
        return parsed;
      });
    },

    async dispatch(item, { signal }) {
      const context = { sink, key: item.idempotencyKey };
      const args = (options.args ?? []).map((template) => fillTemplate(template, item.operation, argument));
      if (!args.every((arg) => arg !== null)) return { outcome: 'refused', code: 'invalid_operation' };
      const input = options.input === 'none' ? '' : JSON.stringify(item.operation);
      const key = {
        COUNTERSIGN_IDEMPOTENCY_KEY: item.idempotencyKey,
        COUNTERSIGN_OPERATION_DIGEST: item.operationDigest,
      };
      const ended = await run(options.command, args, { env: key, input }, signal);
      if (ended.end === 'not_started') return { outcome: 'not_sent' };
      if (ended.end !== 'exit') throw failed(ended, context);
      const refusal = options.refusals?.[ended.exitCode];
      if (refusal !== undefined) return { outcome: 'refused', code: refusal };
      if (options.notSentExitCodes?.includes(ended.exitCode)) return { outcome: 'not_sent' };
      if (ended.exitCode !== 0) throw failed(ended, context);
      if (ended.stdout.trim() === '') return { outcome: 'accepted', externalId: null };
      const told = jsonObjectIn(ended.stdout);
      const { external_id: externalId = null, result } = told ?? {};
      if (!told || (typeof externalId !== 'string' && externalId !== null))
        throw new SinkError('output_invalid', context);
      return { outcome: 'accepted', externalId, ...(result === undefined ? {} : { result }) };
    },
  };
}
