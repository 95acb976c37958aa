/**
 * A tool of an MCP server as an effect.
 *
 * Invariant: only tools that the operator lists are called, with a schema and a class that have not changed since this process first saw
 * them, and never those that run as tasks. What a server says of a tool can only make it more dangerous. A call that was written and not answered
 * is unknown; no text of a tool's error is passed on.
 */
import {
  type DispatchOutcome,
  type EffectSink,
  type KeyEnforcement,
  type LookupStrength,
  type SideEffectClass,
  type SinkAnswer,
  type SinkItem,
} from '../../ports';
import { highest } from './mcp-class';
import { type McpAddress, McpConnection, type McpResult } from './mcp-connection';
import { guarded, keptOf, McpManifest } from './mcp-manifest';
import { type McpProgram } from './mcp-stdio';
import { SinkError } from './sink-error';

/** Which server, which of its tools, and what is claimed for them; times are in milliseconds. */
export interface McpSinkOptions {
  /** What errors call this sink. */
  readonly name: string;
  /** A program that is started here, or an address. */
  readonly server: McpProgram | McpAddress;
  /** The tools that operations may name, and what the operator says of each. @default sideEffect 'non_idempotent_write' */
  readonly tools: Readonly<Record<string, { readonly sideEffect?: SideEffectClass }>>;
  /** An argument that gets the idempotency key; without it only `_meta` tells it. */
  readonly keyArgument?: string;
  /** Whether the server itself refuses a second call under one key. @default 'no' */
  readonly enforcesKey?: KeyEnforcement;
  readonly horizonMs?: number;
  /** What `isError` proves: that nothing was done, or nothing. @default 'refused' */
  readonly toolErrors?: 'refused' | 'unknown';
  /** The server's own name for what was done. @default none */
  readonly externalId?: (result: McpResult) => string | null;
  readonly lookup?: {
    /** A tool that changes nothing. */
    readonly tool: string;
    readonly arguments: (item: SinkItem) => Readonly<Record<string, unknown>>;
    /** Reads its result; `null` when it is not what it should be. */
    readonly answer: (result: McpResult, item: SinkItem) => SinkAnswer | null;
    readonly strength: Exclude<LookupStrength, 'none'>;
  };
  /** Largest answer, and of a program largest line. @default 1 MiB */
  readonly maxAnswerBytes?: number;
  /** @default 30000 */
  readonly deadlineMs?: number;
  /** @default 30000 */
  readonly settleMs?: number;
  readonly maxInFlight?: number;
  readonly minIntervalMs?: number;
}

type Dict = Readonly<Record<string, unknown>>;

const isDict = (value: unknown): value is Dict => typeof value === 'object' && value !== null && !Array.isArray(value);
const refused = (code: string): DispatchOutcome => ({ outcome: 'refused', code });
const UNLISTED: SideEffectClass = 'non_idempotent_write';
/** Until a server that cannot be reached is asked again. */
const PAUSE_MS = 1_000;
const notSent = (retryAfterMs = PAUSE_MS): DispatchOutcome => ({ outcome: 'not_sent', retryAfterMs });

const metaOf = (item: SinkItem): Dict => ({
  'countersign/idempotency_key': item.idempotencyKey,
  'countersign/operation_digest': item.operationDigest,
});

/** Calls of tools of one MCP server. Throws `peer_missing` without `@modelcontextprotocol/sdk`. */
export function mcpSink(options: McpSinkOptions): EffectSink {
  const { name: sink, lookup, keyArgument, deadlineMs = 30_000 } = options;
  const listed = new Map(Object.entries(options.tools));
  const server = new McpConnection(options.server, options.maxAnswerBytes ?? 1024 * 1024);
  const manifest = new McpManifest(server, (tool) => listed.has(tool));

  function find(item: SinkItem, signal: AbortSignal, by: NonNullable<typeof lookup>): Promise<SinkAnswer> {
    const params = (): Dict => ({ arguments: by.arguments(item), _meta: metaOf(item) });
    const read = (result: McpResult): SinkAnswer | null => by.answer(result, item);
    return manifest.look(by.tool, { params, read }, signal, { sink, key: item.idempotencyKey });
  }

  async function dispatch(item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const context = { sink, key: item.idempotencyKey };
    const { tool, arguments: given = {}, ...rest } = isDict(item.operation) ? item.operation : {};
    if (typeof tool !== 'string' || !isDict(given) || Object.keys(rest).length > 0) return refused('invalid_operation');
    if (!listed.has(tool)) return refused('tool_not_listed');
    if (keyArgument !== undefined && keyArgument in given) return refused('invalid_operation');
    let fault: string | null;
    try {
      fault = await manifest.fault(tool, signal, context);
    } catch (unanswered) {
      return notSent((unanswered as SinkError).retryAfterMs); // nothing but questions has left so far
    }
    if (fault !== null) return refused(fault);
    const keyed = keyArgument === undefined ? given : { ...given, [keyArgument]: item.idempotencyKey };
    const answer = await server.call({ name: tool, arguments: keyed, _meta: metaOf(item) }, signal, context);
    if (answer.end === 'not_sent') return notSent(answer.retryAfterMs);
    if (answer.result.isError === true) {
      if (options.toolErrors === 'unknown') throw new SinkError('command_failed', context, { detail: 'tool error' });
      return refused('tool_error');
    }
    const externalId = guarded(() => options.externalId?.(answer.result) ?? null);
    if (externalId === 'failed') throw new SinkError('answer_invalid', context);
    return { outcome: 'accepted', externalId, result: keptOf(answer.result) };
  }

  return {
    kind: 'local_tool',
    /**
     * Of the most dangerous listed tool. Before the server has been asked, none is taken for harmless, and afterwards none changes: so a
     * copy of this object is never less careful than it.
     */
    get sideEffect() {
      const classes = [...listed].map(([name, { sideEffect = UNLISTED }]) =>
        highest([sideEffect, manifest.raisedTo(name) ?? UNLISTED]),
      );
      return highest(classes);
    },
    lookup: lookup ? lookup.strength : 'none',
    enforcesKey: options.enforcesKey ?? 'no',
    deadlineMs,
    settleMs: options.settleMs ?? 30_000,
    ...(options.horizonMs === undefined ? {} : { horizonMs: options.horizonMs }),
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
    ...(options.minIntervalMs === undefined ? {} : { minIntervalMs: options.minIntervalMs }),

    observe: (items, { signal }) =>
      Promise.all(items.map((item) => (lookup ? find(item, signal, lookup) : ({ state: 'unknown' } as const)))),

    dispatch: (item, { signal }) => dispatch(item, signal),

    /** The server answers and has every listed tool, none of which runs as a task; the look-up's tool changes nothing. */
    async probe() {
      const context = { sink, key: 'self-test' };
      const signal = AbortSignal.timeout(deadlineMs);
      for (const name of listed.keys()) {
        const fault = await manifest.fault(name, signal, context);
        if (fault !== null) throw new SinkError('probe_failed', context, { detail: `tool=${name}, found=${fault}` });
      }
      if (lookup && !(await manifest.reads(lookup.tool, signal, context))) {
        throw new SinkError('probe_failed', context, { detail: 'step=lookup' });
      }
    },
  };
}
