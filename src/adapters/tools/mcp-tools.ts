/**
 * The tools of one MCP server as tools of sessions: one handler a tool.
 *
 * Invariant: what a server says of a tool makes it no safer unless the author trusts it. A call is written at most once an execution; one
 * that was written and not answered is unknown. A tool that is no longer what its handler was made of is not called.
 */
import { type SideEffectClass } from '../../ports';
import { UNDECLARED_CLASS } from '../../rules/invocations/class-table';
import { isToolName, isToolVersion } from '../../rules/invocations/names';
import { highest, statedClass } from '../sinks/mcp-class';
import { type McpAddress, McpConnection, type McpResult, type McpTool } from '../sinks/mcp-connection';
import { keptOf, McpManifest, needsTask, raisedBy } from '../sinks/mcp-manifest';
import { type McpProgram } from '../sinks/mcp-stdio';
import { type SinkErrorContext } from '../sinks/sink-error';
import { mcpInputSchema } from './mcp-input-schema';
import { type ToolCall, ToolError, type ToolFound, type ToolHandler, ToolOutcomeUnknown } from './tool-handler';

type Args = Readonly<Record<string, unknown>>;

/** What the author says of one tool. */
export interface McpToolOptions extends Pick<
  ToolHandler,
  'maxConcurrency' | 'deadlineMs' | 'settleMs' | 'maxAttempts'
> {
  /** Its name for sessions. @default `<name>-<the server's name of it>`, lowercase with hyphens */
  readonly tool?: string;
  /** `null`: none. @default the one for all tools */
  readonly version?: string | null;
  /** Raised by what the server states, and never lowered by it. @default 'non_idempotent_write' */
  readonly sideEffect?: SideEffectClass;
  /** What `isError` proves: that nothing was done, or nothing. @default 'failed' */
  readonly toolErrors?: 'failed' | 'unknown';
  readonly lookup?: {
    /** A tool of the same server that changes nothing. */
    readonly tool: string;
    readonly arguments: (args: Args, call: ToolCall) => Args;
    /** Reads its result; `null` when it is not what it should be. */
    readonly answer: (result: McpResult, call: ToolCall) => ToolFound | null;
    readonly strength: 'authoritative' | 'hint';
  };
}

/** Which server, which of its tools, and what is claimed for them; times are in milliseconds. */
export interface McpToolsOptions {
  /** What the server is called here: the names of its tools begin with it. */
  readonly name: string;
  /** A program that is started here, or an address. */
  readonly server: McpProgram | McpAddress;
  /** The tools that sessions may have, as the server names them. @default all but those that run as tasks only */
  readonly only?: readonly string[];
  /** More about single tools, as the server names them. */
  readonly tools?: Readonly<Record<string, McpToolOptions>>;
  /** `null`: none. @default the server's own version where it is three numbers such as 1.0.0, else none */
  readonly version?: string | null;
  /** Whether a tool that nothing is said of has the class that the server states. @default false */
  readonly trustHints?: boolean;
  /** Longest time in which the server must be there and list its tools, and of one execution. @default 30000 */
  readonly deadlineMs?: number;
  /** Largest answer, and of a program largest line. @default 1 MiB */
  readonly maxAnswerBytes?: number;
}

/** Asks the server what it has. Throws `peer_missing` without `@modelcontextprotocol/sdk`, and a `SinkError` where it does not answer. */
export async function mcpTools(options: McpToolsOptions): Promise<readonly ToolHandler[]> {
  const { name: sink, tools: said = {}, deadlineMs = 30_000 } = options;
  const server = new McpConnection(options.server, options.maxAnswerBytes ?? 1024 * 1024, 'mcpTools');
  const manifest = new McpManifest(server, () => true);
  const context = { sink, key: 'tools/list' };
  const signal = AbortSignal.timeout(deadlineMs);
  const offered = await manifest.tools(signal, context);
  const own = await server.version(signal, context);
  const version = options.version === undefined ? (isToolVersion(own) ? own : null) : options.version;
  const named = new Set([...(options.only ?? []), ...Object.keys(said)]);
  for (const name of named) {
    const fault = await manifest.fault(name, signal, context);
    if (fault !== null) throw new Error(`The MCP server ${sink} has no tool ${name} to be called: ${fault}.`);
  }
  for (const { lookup } of Object.values(said)) {
    if (lookup === undefined || (await manifest.reads(lookup.tool, signal, context))) continue;
    throw new Error(`The MCP server ${sink} has no tool ${lookup.tool} that only reads, which a look-up would need.`);
  }
  const isWanted = (tool: McpTool): boolean => options.only?.includes(tool.name) ?? !needsTask(tool);
  const handlers = offered.filter(isWanted).map((tool) => {
    const stated = statedClass(tool.annotations);
    const more = said[tool.name] ?? {};
    const { sideEffect = (options.trustHints === true ? stated : null) ?? UNDECLARED_CLASS } = more;
    const declared = highest([sideEffect, raisedBy(stated)]);
    return handlerOf({ server, manifest, sink }, tool, { version, deadlineMs, ...more, sideEffect: declared });
  });
  const names = handlers.map(({ tool }) => tool);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two tools of the MCP server ${sink} are ${twice}; name one by "tool".`);
  return handlers;
}

interface Source {
  readonly server: McpConnection;
  readonly manifest: McpManifest;
  readonly sink: string;
}

function handlerOf({ server, manifest, sink }: Source, tool: McpTool, options: McpToolOptions): ToolHandler {
  const { name } = tool;
  const { tool: given, version, lookup, toolErrors, ...more } = options;
  return {
    ...more,
    tool: given ?? sessionName(sink, name),
    ...(typeof version === 'string' ? { version } : {}),
    inputSchema: mcpInputSchema(tool),

    async run(args, call) {
      const context = { sink, key: call.idempotencyKey };
      await mustBeTheSame(manifest, name, call.signal, context);
      const params = { name, arguments: args as Args, _meta: metaOf(call) };
      const answer = await server.call(params, call.signal, context).catch((fault: unknown) => {
        throw new ToolOutcomeUnknown('The MCP server did not answer a call.', { cause: fault });
      });
      if (answer.end === 'not_sent') throw new ToolError('not_reachable');
      if (answer.result.isError !== true) return keptOf(answer.result);
      if (toolErrors === 'unknown') throw new ToolOutcomeUnknown('An error of this tool proves nothing.');
      throw new ToolError('tool_error');
    },

    ...(lookup === undefined
      ? {}
      : {
          lookupStrength: lookup.strength,
          lookup(args: unknown, call: ToolCall): Promise<ToolFound> {
            const params = (): object => ({ arguments: lookup.arguments(args as Args, call), _meta: metaOf(call) });
            const read = (result: McpResult): ToolFound | null => lookup.answer(result, call);
            return manifest.look(lookup.tool, { params, read }, call.signal, { sink, key: call.idempotencyKey });
          },
        }),
  };
}

/** Nothing but questions has left so far: whatever is wrong is a failure of a call that was not made. */
async function mustBeTheSame(
  manifest: McpManifest,
  name: string,
  signal: AbortSignal,
  context: SinkErrorContext,
): Promise<void> {
  const fault = await manifest.fault(name, signal, context).catch(() => 'not_reachable');
  if (fault !== null) throw new ToolError(fault);
}

function metaOf({ idempotencyKey }: ToolCall): Args {
  return { 'countersign/idempotency_key': idempotencyKey };
}

/** `writeFile` and `write_file` of the server `files` are `files-write-file`. */
function sessionName(server: string, tool: string): string {
  const name = `${server}-${tool}`
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  if (isToolName(name)) return name;
  throw new Error(`The tool ${tool} of the MCP server ${server} needs a name for sessions; give it one by "tool".`);
}
