/**
 * One MCP server: connected when first needed and again when it has gone, with what it says of its tools.
 *
 * Invariant: a call is written at most once. `not_sent` is said only when no byte of it can have reached the server; what a server says of
 * its tools is at most a minute old when a call relies on it.
 */
import { optionalPeer } from '../optional-peer';
import { retryAfterMs } from './http-exchange';
import { type McpAnnotations } from './mcp-class';
import { type McpProgram, McpStdio } from './mcp-stdio';
import { SinkError, type SinkErrorContext } from './sink-error';

/** A server that is reached over HTTP. */
export interface McpAddress {
  /** Of a server that speaks Streamable HTTP. */
  readonly url: string;
  /** Headers that are asked for at each request and never kept. */
  readonly credentials?: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
}

export interface McpTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
  readonly annotations?: McpAnnotations;
  readonly execution?: { readonly taskSupport?: string };
}

/** The result of `tools/call`. */
export interface McpResult {
  readonly content?: readonly unknown[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

export type McpAnswer =
  | { readonly end: 'result'; readonly result: McpResult }
  | { readonly end: 'not_sent'; readonly retryAfterMs: number | undefined };

interface Client {
  onclose?: () => void;
  connect(transport: unknown, options: object): Promise<void>;
  close(): Promise<void>;
  getServerVersion(): { readonly version?: string } | undefined;
  request(request: object, schema: unknown, options: object): Promise<unknown>;
  setNotificationHandler(schema: unknown, handler: () => void): void;
}

interface Sdk {
  readonly client: { readonly Client: new (info: object) => Client };
  readonly http: { readonly StreamableHTTPClientTransport: new (url: URL, options: object) => object };
  readonly types: Readonly<Record<'CallToolResultSchema' | 'ListToolsResultSchema', unknown>> & {
    readonly ToolListChangedNotificationSchema: unknown;
  };
}

/* eslint-disable @typescript-eslint/no-require-imports */
const loadSdk = (): Sdk => ({
  client: require('@modelcontextprotocol/sdk/client/index.js') as Sdk['client'],
  http: require('@modelcontextprotocol/sdk/client/streamableHttp.js') as Sdk['http'],
  types: require('@modelcontextprotocol/sdk/types.js') as Sdk['types'],
});
/* eslint-enable @typescript-eslint/no-require-imports */

const TOOLS_MAX_AGE_MS = 60_000;
const MOST_PAGES = 20;
const TIMED_OUT = -32001;
const CLOSED = -32000;
/** HTTP answers that are given before a call is looked at: no login, no right, a session that is gone, too many. */
const NOT_TAKEN: ReadonlySet<unknown> = new Set([401, 403, 404, 429]);
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** The status of an HTTP answer, which no error that a tool has thrown can take for its own code. */
class NotTaken extends Error {
  constructor(
    readonly code: number,
    readonly retryAfterMs: number | undefined,
  ) {
    super('not taken');
  }
}

interface Live {
  readonly client: Client;
  readonly stdio: McpStdio | null;
  tools: { readonly list: readonly McpTool[]; readonly until: number } | null;
}

export class McpConnection {
  readonly #sdk: Sdk;
  #live: Promise<Live> | null = null;

  constructor(
    private readonly server: McpProgram | McpAddress,
    private readonly maxAnswerBytes: number,
    /** What is made of the connection; it is said where the SDK is not installed. */
    adapter = 'mcpSink',
  ) {
    this.#sdk = optionalPeer(adapter, '@modelcontextprotocol/sdk', loadSdk);
  }

  /** Of the server itself, as it says; null where it says none. */
  async version(signal: AbortSignal, context: SinkErrorContext): Promise<string | null> {
    return (await this.#connect(signal, context)).client.getServerVersion()?.version ?? null;
  }

  /** Of the server's process, while there is one. */
  async pid(): Promise<number | null> {
    return (await this.#live)?.stdio?.pid ?? null;
  }

  async tools(signal: AbortSignal, context: SinkErrorContext): Promise<readonly McpTool[]> {
    const live = await this.#connect(signal, context);
    if (live.tools && performance.now() < live.tools.until) return live.tools.list;
    const list: McpTool[] = [];
    let cursor: string | undefined;
    const until = performance.now() + TOOLS_MAX_AGE_MS;
    for (let pages = 0; pages === 0 || cursor !== undefined; pages += 1) {
      if (pages === MOST_PAGES) throw new SinkError('answer_too_large', context);
      const params = cursor === undefined ? {} : { cursor };
      const schema = this.#sdk.types.ListToolsResultSchema;
      const page = (await this.#ask(live, { method: 'tools/list', params }, schema, signal).catch((fault: unknown) => {
        if (neverTaken(live, fault)) this.#drop(live);
        throw told(fault, signal, context);
      })) as { tools: readonly McpTool[]; nextCursor?: string };
      list.push(...page.tools);
      cursor = page.nextCursor;
    }
    live.tools = { list, until };
    return list;
  }

  /** Calls a tool once. Whatever says nothing certain about the call is thrown. */
  async call(params: object, signal: AbortSignal, context: SinkErrorContext): Promise<McpAnswer> {
    let live: Live;
    try {
      live = await this.#connect(signal, context);
    } catch (fault) {
      return { end: 'not_sent', retryAfterMs: askedToWait(fault) };
    }
    if (signal.aborted || live.stdio?.alive === false) return { end: 'not_sent', retryAfterMs: undefined };
    try {
      const schema = this.#sdk.types.CallToolResultSchema;
      const result = await this.#ask(live, { method: 'tools/call', params }, schema, signal);
      return { end: 'result', result: result as McpResult };
    } catch (fault) {
      if (neverTaken(live, fault)) {
        this.#drop(live);
        return { end: 'not_sent', retryAfterMs: askedToWait(fault) };
      }
      throw told(fault, signal, context);
    }
  }

  #ask(live: Live, request: object, schema: unknown, signal: AbortSignal): Promise<unknown> {
    // The signal alone ends a call; the SDK's own limit would be one minute.
    return live.client.request(request, schema, { signal, timeout: 2 ** 31 - 1 });
  }

  #connect(signal: AbortSignal, context: SinkErrorContext): Promise<Live> {
    this.#live ??= this.#open(signal, context).catch((fault: unknown) => {
      this.#live = null;
      throw fault;
    });
    return this.#live;
  }

  async #open(signal: AbortSignal, context: SinkErrorContext): Promise<Live> {
    const { client, http, types } = this.#sdk;
    const live: Live = {
      client: new client.Client({ name: 'countersign', version: '1' }),
      stdio: 'command' in this.server ? new McpStdio(this.server, this.maxAnswerBytes) : null,
      tools: null,
    };
    live.client.onclose = () => this.#drop(live);
    live.client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => (live.tools = null));
    const transport =
      live.stdio ??
      new http.StreamableHTTPClientTransport(new URL((this.server as McpAddress).url), {
        fetch: this.#fetch,
        reconnectionOptions: {
          ...{ initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1, maxRetries: 0 },
        },
      });
    try {
      await live.client.connect(transport, { signal, timeout: 2 ** 31 - 1 });
    } catch (fault) {
      await live.client.close().catch(() => undefined);
      throw new SinkError('not_reachable', context, { retryAfterMs: askedToWait(fault) });
    }
    return live;
  }

  /** Follows no redirect, opens no stream that would outlast a call, and reads no answer beyond the limit. */
  readonly #fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    if (init.method === 'GET') return new Response(null, { status: 405 });
    const headers = new Headers(init.headers);
    const { credentials } = this.server as McpAddress;
    for (const [name, value] of Object.entries((await credentials?.()) ?? {})) headers.set(name, value);
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    // The SDK would send the call again to where a redirect leads, and would lose how long to wait.
    if ((response.status >= 300 && response.status < 400) || NOT_TAKEN.has(response.status)) {
      const wait = retryAfterMs({ headers: { 'retry-after': response.headers.get('retry-after') ?? undefined } });
      throw new NotTaken(response.status, wait);
    }
    let left = this.maxAnswerBytes;
    const bounded = response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          left -= chunk.length;
          if (left < 0) controller.error(new Error('too large'));
          else controller.enqueue(chunk);
        },
      }),
    );
    const { status, headers: answered } = response;
    return new Response(bounded ?? null, { status, headers: answered });
  };

  #drop(live: Live): void {
    void this.#live?.then(
      (current) => {
        if (current === live) this.#live = null;
      },
      () => undefined,
    );
  }
}

/** Whether nothing of a request over HTTP was taken: such a connection, or the session in it, is of no more use. */
function neverTaken({ stdio }: Live, fault: unknown): boolean {
  const { cause } = fault as { cause?: { code?: unknown } };
  const notTaken = fault instanceof NotTaken && NOT_TAKEN.has(fault.code);
  return stdio === null && (notTaken || NEVER_CONNECTED.has(cause?.code));
}

const askedToWait = (fault: unknown): number | undefined => (fault as { retryAfterMs?: number }).retryAfterMs;

function told(fault: unknown, signal: AbortSignal, context: SinkErrorContext): SinkError {
  if (fault instanceof SinkError) return fault;
  const { code, name } = fault as { code?: unknown; name?: unknown };
  if (signal.aborted || code === TIMED_OUT) return new SinkError('deadline_passed', context);
  if (name === 'ZodError' || name === '$ZodError') return new SinkError('answer_invalid', context);
  if (typeof code !== 'number' || code === CLOSED) return new SinkError('connection_lost', context);
  return new SinkError('unexpected_status', context, { detail: `code=${code}`, retryAfterMs: askedToWait(fault) });
}
