/**
 * The tools of one MCP server that may be called, as this process first saw them.
 *
 * Invariant: a tool whose schema or class has changed since is not called, nor one that runs as a task; a tool that reads for a look-up
 * is one that its server does not call a writer.
 */
import { type SideEffectClass } from '../../ports';
import { statedClass } from './mcp-class';
import { type McpConnection, type McpResult, type McpTool } from './mcp-connection';
import { SinkError, type SinkErrorContext } from './sink-error';

export type McpFault = 'unknown_tool' | 'tool_needs_task' | 'tool_changed';

interface Said {
  readonly schema: string;
  readonly stated: SideEffectClass | null;
}

const said = ({ inputSchema, annotations }: McpTool): Said => ({
  schema: JSON.stringify(inputSchema),
  stated: statedClass(annotations),
});

/** Where a server states no class, it raises none. */
export const raisedBy = (stated: SideEffectClass | null): SideEffectClass => stated ?? 'read_only';

export const needsTask = ({ execution }: McpTool): boolean => execution?.taskSupport === 'required';

export class McpManifest {
  readonly #seen = new Map<string, Said>();

  constructor(
    private readonly server: McpConnection,
    /** Whether a tool is one of those that may be called. */
    private readonly isListed: (name: string) => boolean,
  ) {}

  /** What the server's own words raise a class to, as this process first saw them; undefined before that. */
  raisedTo(name: string): SideEffectClass | undefined {
    const seen = this.#seen.get(name);
    return seen && raisedBy(seen.stated);
  }

  async tools(signal: AbortSignal, context: SinkErrorContext): Promise<readonly McpTool[]> {
    const tools = await this.server.tools(signal, context);
    for (const tool of tools) {
      if (this.isListed(tool.name) && !this.#seen.has(tool.name)) this.#seen.set(tool.name, said(tool));
    }
    return tools;
  }

  /** Why a tool cannot be called, or `null`. A class that rose later would come too late for who has read it before. */
  async fault(name: string, signal: AbortSignal, context: SinkErrorContext): Promise<McpFault | null> {
    const tool = (await this.tools(signal, context)).find((one) => one.name === name);
    if (!tool) return 'unknown_tool';
    if (needsTask(tool)) return 'tool_needs_task';
    const [first, now] = [this.#seen.get(name), said(tool)];
    return first?.schema === now.schema && first.stated === now.stated ? null : 'tool_changed';
  }

  /** Whether the server has the tool and calls it no writer. That it reads only is the operator's word. */
  async reads(name: string, signal: AbortSignal, context: SinkErrorContext): Promise<boolean> {
    const tool = (await this.server.tools(signal, context)).find((one) => one.name === name);
    return tool !== undefined && raisedBy(said(tool).stated) === 'read_only' && !needsTask(tool);
  }

  /** What a tool that only reads says, as `read` understands it; every way in which it says nothing is thrown. */
  async look<T>(
    tool: string,
    { params, read }: { readonly params: () => object; readonly read: (result: McpResult) => T | null },
    signal: AbortSignal,
    context: SinkErrorContext,
  ): Promise<T> {
    if (!(await this.reads(tool, signal, context))) {
      throw new SinkError('answer_invalid', context, { detail: 'no such read-only tool' });
    }
    const asked = guarded(params);
    if (asked === 'failed') throw new SinkError('answer_invalid', context);
    const answer = await this.server.call({ name: tool, ...asked }, signal, context);
    if (answer.end === 'not_sent') throw new SinkError('not_reachable', context);
    if (answer.result.isError === true) throw new SinkError('answer_invalid', context);
    const found = guarded(() => read(answer.result));
    if (found === 'failed' || found === null) throw new SinkError('answer_invalid', context);
    return found;
  }
}

/** What is kept of a result. */
export function keptOf({ content, structuredContent }: McpResult): Pick<McpResult, 'content' | 'structuredContent'> {
  return {
    ...(content === undefined ? {} : { content }),
    ...(structuredContent === undefined ? {} : { structuredContent }),
  };
}

/** Runs what the operator wrote; its errors could quote an answer. */
export function guarded<T>(call: () => T): T | 'failed' {
  try {
    return call();
  } catch {
    return 'failed';
  }
}
