/** What tests of sessions work with beside the rig: a scripted model, tools that remember what they did, and people who are told. */
import type { ModelRequest, Store } from '../../src';
import { scriptedModel, type ScriptedAnswer } from '../../src/adapters/models';
import type { ToolHandler } from '../../src/adapters/tools';
import { SessionClient, type SessionEvent, type SessionHandle, type SessionStart } from '../../src/client';
import type { CountersignPluginOptions } from '../../src';
import { CountersignToolWorker, type CountersignToolWorkerOptions } from '../../src/tool-worker';
import type { ToolDescriptor } from '../../src/session-tools';
import type { ToolSessionStatus } from '../../src/client';
import { Journal } from '../../src/activities/journal';
import { SessionShelf } from '../../src/activities/session-shelf';
import { SessionLogReader } from '../../src/rules/invocations/session-log';
import { recordToText } from '../../src/rules/invocations/session-record';
import { storeView, verifyJournal } from '../../src/verify';
import type { Rig, RigWorker } from '../support/rig';

export const AGENT = '1.0';

/** A call as a script asks for it. */
export const call = (tool: string, args: unknown): { readonly tool: string; readonly args: unknown } => ({
  tool,
  args,
});

export interface SessionPlay {
  readonly script: readonly (ScriptedAnswer | ((request: ModelRequest) => ScriptedAnswer))[];
  readonly tools: readonly ToolDescriptor[];
  /** Tools with a worker in this process. @default all that have a `run` */
  readonly handlers?: readonly ToolHandler[];
  readonly plugin?: Partial<CountersignPluginOptions>;
  readonly toolWorker?: Partial<CountersignToolWorkerOptions>;
  /** Hears of each request to the model. */
  readonly onRequest?: (request: ModelRequest) => void | Promise<void>;
}

export class SessionRig {
  sessions!: SessionClient;
  private names = 0;

  constructor(
    readonly rig: Rig,
    readonly play: SessionPlay,
  ) {
    const { client, contents, journal: store, taskQueue } = rig;
    this.sessions = new SessionClient({ client, contents, store, taskQueue });
  }

  /** A worker that carries sessions and asks the model. */
  worker(): Promise<RigWorker> {
    const { script, tools, plugin, onRequest } = this.play;
    const models = [scriptedModel({ script, ...(onRequest === undefined ? {} : { onRequest }) })];
    return this.rig.worker({ plugin: { models, tools, ...plugin } });
  }

  /** A worker of the tools; it ends with the test. */
  async toolWorker(handlers = this.play.handlers ?? this.play.tools.filter(isHandler)): Promise<CountersignToolWorker> {
    const { journal: store, contents, temporal, taskQueue } = this.rig as Rig & { journal: Store };
    const worker = await CountersignToolWorker.create({
      ...{ store, contents, taskQueue, handlers },
      connection: temporal.nativeConnection,
      namespace: temporal.namespace,
      ...this.play.toolWorker,
    });
    const running = worker.run().catch(() => undefined);
    this.rig.beforeEnd(async () => {
      worker.shutdown();
      await running;
    });
    return worker;
  }

  /** A session of its own name. */
  start(more: Partial<SessionStart> = {}): Promise<SessionHandle> {
    const session =
      more.session ?? `${this.rig.taskQueue}-${(this.names += 1)}`.replace(/[^A-Za-z0-9._-]/g, '-').slice(-64);
    const tools = this.play.tools.map(({ tool, version = null }) => ({ tool, version }));
    return this.sessions.start({ session, agentVersion: AGENT, model: 'scripted', tools, ...more });
  }
}

function isHandler(tool: ToolDescriptor): tool is ToolHandler {
  return 'run' in tool;
}

/** Polls the session until it is as wanted; fails with what it is instead. */
export async function until(
  handle: SessionHandle,
  wanted: (status: ToolSessionStatus) => boolean,
  ms = 45_000,
  betweenMs = 50,
): Promise<ToolSessionStatus> {
  const limit = performance.now() + ms;
  for (let last: unknown = null; ;) {
    try {
      const status = await handle.status();
      if (wanted(status)) return status;
      last = status;
    } catch (fault) {
      last = String(fault);
    }
    if (performance.now() > limit) throw new Error(`the session did not get there; it is ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, betweenMs));
  }
}

/** The events up to and with the n-th of a type. */
export async function eventsUntil(
  handle: SessionHandle,
  type: SessionEvent['type'],
  times = 1,
): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  let left = times;
  for await (const event of handle.attach({ signal: AbortSignal.timeout(45_000) })) {
    events.push(event);
    if (event.type === type) left -= 1;
    if (left === 0) return events;
  }
  throw new Error(`no ${type} came; there were ${events.map((event) => event.type).join(', ')}`);
}

export const typesOf = (events: readonly SessionEvent[]): readonly string[] => events.map(({ type }) => type);

let tools = 0;

/** The queue of a tool is one workflow of the whole server: a tool of each test has a name of its own. */
export function uniqueTool(name: string): string {
  return `${name}-${process.pid}-${(tools += 1)}`;
}

/** Reads the log as whoever audits it does, and verifies the journal; throws where a record could not have followed. */
export async function auditedLog(rig: Rig, session: string): Promise<SessionLogReader> {
  const reader = new SessionLogReader(session);
  const records = await new SessionShelf(new Journal(rig.journal)).log(session);
  for (const record of records) reader.take(recordToText(record));
  const { ok, findings } = await verifyJournal(storeView(rig.journal), { strict: true });
  if (!ok) throw new Error(`the journal does not verify: ${JSON.stringify(findings)}`);
  return reader;
}
