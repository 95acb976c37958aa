/**
 * Where one case is run: one adapter made for it, the proxy before its sink, fresh operations, and calls with a deadline.
 *
 * Invariant: every call goes through here, so a malformed answer, a leak or a call that outlives its deadline is found in every
 * case, whatever the case is about.
 */
import { randomBytes } from 'node:crypto';
import type { DispatchOutcome, EffectSink, SinkAnswer, SinkItem } from '../../ports';
import { isDigest } from '../../rules/recovery';
import { ContentWatch } from './content-watch';
import { FaultProxy } from './fault-proxy';
import type { FaultLine, MakeSink, Reach, SinkFixture } from './fixture';
import { HttpFaultProxy, type Distortion } from './http-fault-proxy';
import { BrokenPromise, NotApplicable, type Broken, type SinkFault } from './promises';
import { startStdioTarget, STDIO_BRIDGE } from './stdio-target';

/** What a call came to: what it told, or what it threw. */
export type Ended<T> = { readonly told: T; readonly threw?: never } | { readonly told: null; readonly threw: unknown };
export type Sent = Ended<DispatchOutcome>;
export type Looked = Ended<readonly SinkAnswer[]>;

export interface CallLimits {
  readonly deadlineMs?: number;
  /** The worker stops the call then, long before its deadline. */
  readonly abortAfterMs?: number;
}

const PATIENCE_MS = 1_500;
const MARGIN_MS = 5_000;
const LONGEST_EXTERNAL_ID = 4_096;
const CODE = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;
const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Stand {
  readonly watch = new ContentWatch();
  readonly #sinks: EffectSink[] = [];
  readonly #closing: (() => Promise<void>)[] = [];
  #tcp: FaultProxy | null = null;
  #http: HttpFaultProxy | null = null;

  private constructor(
    readonly fault: SinkFault,
    readonly fixture: SinkFixture,
    readonly makeSink: MakeSink,
  ) {
    this.watch.plant(...(fixture.secrets ?? []));
    this.watch.listen();
  }

  /** `meaning`: with the proxy that speaks HTTP instead of the one that knows no protocol. */
  static async open(fault: SinkFault, fixture: SinkFixture, makeSink: MakeSink, meaning: boolean): Promise<Stand> {
    const stand = new Stand(fault, fixture, makeSink);
    try {
      await stand.#reach(meaning);
      stand.#sinks.push(await makeSink(stand.reach));
      return stand;
    } catch (error) {
      await stand.close();
      throw error;
    }
  }

  async #reach(meaning: boolean): Promise<void> {
    const { target } = this.fixture;
    if (meaning) {
      if (target === undefined || !('url' in target)) throw new NotApplicable('the sink is not reached by HTTP');
      const url = new URL(target.url);
      if (url.protocol !== 'http:') throw new NotApplicable('the kit does not speak TLS; give the target without it');
      this.#http = await HttpFaultProxy.start(url);
      this.#closing.push(() => this.http.close());
      return;
    }
    if (target === undefined) return;
    this.#tcp = await FaultProxy.start(await this.#address(target));
    this.#closing.push(() => this.proxy.close());
  }

  async #address(target: NonNullable<SinkFixture['target']>): Promise<{ host: string; port: number }> {
    if ('command' in target) {
      const stdio = await startStdioTarget(target.command, target.args ?? [], target.env);
      this.#closing.push(() => stdio.close());
      return stdio;
    }
    if ('port' in target) return { host: target.host ?? '127.0.0.1', port: target.port };
    const url = new URL(target.url);
    return { host: url.hostname, port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80) };
  }

  get reach(): Reach {
    const port = this.#http?.port ?? this.#tcp?.port;
    const { target } = this.fixture;
    const own = (): number => {
      if (port === undefined) throw new Error('the fixture gives no target, so there is nothing to reach');
      return port;
    };
    return {
      host: '127.0.0.1',
      get port() {
        return own();
      },
      get url() {
        if (target === undefined || !('url' in target)) throw new Error('the target of the fixture has no url');
        const { protocol, pathname, search } = new URL(target.url);
        const path = pathname === '/' && !target.url.endsWith('/') ? '' : pathname;
        return `${protocol}//127.0.0.1:${own()}${path}${search}`;
      },
      get stdio() {
        return { command: process.execPath, args: ['-e', STDIO_BRIDGE, String(own())] };
      },
    };
  }

  get sink(): EffectSink {
    return this.#sinks[0] as EffectSink;
  }

  /** Another worker's adapter for the same sink. */
  async another(): Promise<EffectSink> {
    const sink = await this.makeSink(this.reach);
    this.#sinks.push(sink);
    return sink;
  }

  get http(): HttpFaultProxy {
    if (this.#http === null) throw new NotApplicable('the sink is not reached by HTTP');
    return this.#http;
  }

  /** The kit's own TCP proxy. */
  get proxy(): FaultProxy {
    if (this.#tcp === null)
      throw new NotApplicable('the fixture gives no target that the kit could put its proxy before');
    return this.#tcp;
  }

  get line(): FaultLine {
    return this.fixture.line ?? this.proxy;
  }

  get patienceMs(): number {
    return this.fixture.patienceMs ?? PATIENCE_MS;
  }

  /** A fresh operation under a fresh key. */
  item(make: (text: string) => unknown = (text) => this.fixture.operation(text)): SinkItem {
    const text = `planted-${hex(8)}`;
    this.watch.plant(text);
    return {
      toolId: this.fixture.toolId ?? 'tool:conformance.example/write@1.0.0',
      actionId: `act_${hex(16)}`,
      idempotencyKey: `idem_${hex(32)}`,
      operationDigest: `sha256:${hex(32)}`,
      operation: make(text),
    };
  }

  async writes(item: SinkItem): Promise<number> {
    return this.fixture.writes(item);
  }

  /** Whether the sink holds a write by now. */
  written(item: SinkItem): () => Promise<boolean> {
    return async () => (await this.writes(item)) > 0;
  }

  broken(what: Broken, detail?: string): BrokenPromise {
    return new BrokenPromise(this.fault, what, detail);
  }

  async dispatch(item: SinkItem, limits: CallLimits = {}, sink: EffectSink = this.sink): Promise<Sent> {
    const sent = await this.#call(sink, limits, (context) => sink.dispatch(item, context));
    if (sent.told !== null && !isOutcome(sent.told)) throw this.broken('answer_malformed', 'dispatch');
    if (sent.told?.outcome === 'refused' && !CODE.test(sent.told.code)) throw this.broken('refusal_unstable');
    if (sent.told?.outcome === 'refused' && this.watch.foundIn(sent.told.code))
      throw this.broken('content_told', 'in a code');
    return sent;
  }

  async observe(items: readonly SinkItem[], limits: CallLimits = {}, sink: EffectSink = this.sink): Promise<Looked> {
    const looked = await this.#call(sink, limits, (context) => sink.observe(items, context));
    if (looked.told === null) return looked;
    const { told } = looked;
    if (!Array.isArray(told) || told.length !== items.length) throw this.broken('answers_mixed');
    if (!told.every(isAnswer)) throw this.broken('answer_malformed', 'observe');
    return looked;
  }

  /** One answer to one question; a look-up that throws is `unknown`, as the engine takes it. */
  async ask(item: SinkItem, limits: CallLimits = {}): Promise<SinkAnswer> {
    return (await this.observe([item], limits)).told?.[0] ?? { state: 'unknown' };
  }

  async #call<T>(
    sink: EffectSink,
    { deadlineMs = sink.deadlineMs, abortAfterMs }: CallLimits,
    run: (context: { signal: AbortSignal; deadlineMs: number }) => Promise<T>,
  ): Promise<Ended<T>> {
    const abort = new AbortController();
    const stop = setTimeout(() => abort.abort(), abortAfterMs ?? deadlineMs);
    if (abortAfterMs === 0) abort.abort();
    let overrun: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      overrun = setTimeout(
        resolve,
        (abortAfterMs ?? deadlineMs) + (this.fixture.marginMs ?? MARGIN_MS),
        'late' as const,
      );
    });
    try {
      const call = (async (): Promise<Ended<T>> => {
        try {
          return { told: await run({ signal: abort.signal, deadlineMs }) };
        } catch (threw) {
          return { told: null, threw };
        }
      })();
      const value = await Promise.race([call, late]);
      if (value === 'late') throw this.broken(abortAfterMs === undefined ? 'deadline_ignored' : 'abort_ignored');
      if (this.watch.heard) throw this.broken('content_told', 'in a log');
      if (value.told === null && this.watch.foundIn(value.threw)) throw this.broken('content_told', 'in an error');
      await farewell();
      return value;
    } finally {
      clearTimeout(stop);
      clearTimeout(overrun);
    }
  }

  /** Every request of one call answered by `distortion`. */
  async distorted<T>(distortion: Distortion | null, call: () => Promise<T>): Promise<T> {
    this.http.begin(distortion);
    try {
      return await call();
    } finally {
      this.http.begin(null);
    }
  }

  async close(): Promise<void> {
    this.watch.stop();
    this.fixture.line?.clear();
    for (const close of this.#closing.reverse()) await close();
  }
}

/**
 * What an adapter writes when it takes leave of its server crosses the line before the next call begins, or the proxy would take it for
 * a part of that. Both are in this process: a few turns of its loop are enough, however slow the machine is.
 */
async function farewell(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function isOutcome(outcome: DispatchOutcome | undefined): boolean {
  switch (outcome?.outcome) {
    case 'accepted':
      return isName(outcome.externalId);
    case 'refused':
      return typeof outcome.code === 'string';
    case 'not_sent':
      return outcome.retryAfterMs === undefined || isDuration(outcome.retryAfterMs);
    default:
      return false;
  }
}

function isAnswer(answer: SinkAnswer | undefined): boolean {
  switch (answer?.state) {
    case 'absent':
    case 'unknown':
      return true;
    case 'in_flight':
      return answer.retryAfterMs === undefined || isDuration(answer.retryAfterMs);
    case 'committed':
      return isDigest(answer.operationDigest) && isName(answer.externalId);
    default:
      return false;
  }
}

const isDuration = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isName = (value: unknown): boolean =>
  value === null || (typeof value === 'string' && value.length <= LONGEST_EXTERNAL_ID);
