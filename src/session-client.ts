/**
 * A typed client for tool sessions, imported as `countersign/client`. Invariant: what a person says is in the content store before the
 * session hears of it; starting the same session again follows the one that is there; and whoever attaches sees every event, in order.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  WorkflowExecutionAlreadyStartedError,
  ServiceError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client';
import { CARRIER_TASK_TIMEOUT_MS } from './activities/contract';
import { Contents } from './activities/contents';
import { Journal } from './activities/journal';
import { SessionShelf } from './activities/session-shelf';
import type { SideEffectClass, Store } from './ports';
import { isSessionName, queueNameOf, sessionWorkflowId } from './rules/invocations/names';
import type { SessionEventType } from './rules/invocations/vocabulary';
import { isPerson, personDigest } from './rules/receipts/names';
import { Refusal } from './rules/refusal';
import type { Dict } from './rules/fields';
import { eventToBody } from './rules/invocations/session-event';
import { attributesOfSession } from './rules/invocations/search-attributes';
import type { SessionRecord } from './rules/invocations/session-record';
import { isSearchable } from './search-registration';
import { refusalIn } from './update-refusal';
import type { toolSession } from './workflows/tool-session';
import type { MessageTaken, SessionLimits, ToolSessionInput, ToolSessionStatus } from './workflows/session-messages';

export interface SessionClientOptions {
  readonly client: Client;
  /** The journal that the workers write; what `attach` reads. */
  readonly store: Store;
  /** The content store that the workers read. */
  readonly contents: Store;
  /** Task queue of the workers that carry sessions. */
  readonly taskQueue: string;
}

/** A tool as one agent has it. */
export interface ToolBinding {
  readonly tool: string;
  /** @default the tool has none */
  readonly version?: string | null;
  /** Treats it more carefully than its own class demands; a class that is less careful is refused. @default its own */
  readonly sideEffect?: SideEffectClass;
}

export interface SessionStart {
  /** 1 to 64 characters of `[A-Za-z0-9._-]`; the same name is the same session for ever. */
  readonly session: string;
  /** Of the agent, in the same form; it is part of the id of every call. */
  readonly agentVersion: string;
  /** Name of a model of the session's workers. */
  readonly model: string;
  /** The tools that the agent may call, each in one version. @default none */
  readonly tools?: readonly ToolBinding[];
  /** What the model is told first. */
  readonly instructions?: string;
  /** The first message of the user. @default none yet */
  readonly message?: string;
  /**
   * Who asks, as the reviewers' keys name them: their own approval of a call is refused. Only its digest is kept, and nobody vouches
   * for it. @default nobody is named
   */
  readonly requester?: string;
  /** `interactive`: somebody is expected to be there. `detached`: it goes on by itself. @default 'interactive' */
  readonly mode?: 'interactive' | 'detached';
  /** A turn of a `root` ends in `awaiting_input`, one of a `child` ends the session. @default 'root' */
  readonly kind?: 'root' | 'child';
  /** @default none */
  readonly limits?: { readonly tokens?: number; readonly rounds?: number; readonly wallClockMs?: number };
}

/** One event of a session's log, with the content that it names. */
export interface SessionEvent {
  readonly sequence: number;
  /** Unix milliseconds, by the clock of the session's server. */
  readonly at: number;
  readonly type: SessionEventType;
  readonly body: Dict;
  /** The text of a message, the arguments of a call, or its result; null for any other event, and where it was erased. */
  readonly content: unknown;
}

export interface AttachOptions {
  /** The last event that was seen already. @default from the beginning */
  readonly after?: number;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
}

export interface SessionHandle {
  readonly session: string;
  readonly workflowId: string;
  /** Says something. Answers when it is taken; `id` makes saying it twice the same message. @default a random id */
  send(text: string, options?: { readonly id?: string }): Promise<MessageTaken>;
  /** Every event in order, those to come as well, until the session has ended. */
  attach(options?: AttachOptions): AsyncIterableIterator<SessionEvent>;
  status(): Promise<ToolSessionStatus>;
  /** Dispatches nothing more and ends the session. */
  cancel(): Promise<ToolSessionStatus>;
  /** Ends the session when the turn under way is over. Throws `Refusal` while messages wait. */
  complete(): Promise<ToolSessionStatus>;
  /** Waits for the end. Throws `WorkflowFailedError`; its cause has type `SessionFailed` when the session failed. */
  result(): Promise<ToolSessionStatus>;
  /** The plain Temporal handle. */
  readonly workflow: WorkflowHandle<typeof toolSession>;
}

const POLL_MS = 200;
const MOST_TRIES = 60;
const BETWEEN_TRIES_MS = 500;
const MOST_BYTES = 1024 * 1024;

export class SessionClient {
  private readonly contents: Contents;
  private readonly journal: Journal;

  constructor(private readonly options: SessionClientOptions) {
    this.contents = new Contents(options.contents);
    this.journal = new Journal(options.store);
  }

  /** Starts the session, or follows the one that is there, whose settings stay as they were. */
  async start(start: SessionStart): Promise<SessionHandle> {
    const { session, message } = start;
    const input = await this.input(start);
    const first = message === undefined ? {} : { message: { message_id: 'first', message: await this.put(message) } };
    const workflowId = sessionWorkflowId(session);
    const { client } = this.options;
    const search = await isSearchable(client.connection, client.options.namespace);
    try {
      await client.workflow.start<typeof toolSession>('toolSession', {
        workflowId,
        taskQueue: this.options.taskQueue,
        args: [{ ...input, ...first }],
        workflowIdConflictPolicy: 'FAIL',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowTaskTimeout: CARRIER_TASK_TIMEOUT_MS,
        staticSummary: `session ${session}: agent ${start.agentVersion}, model ${start.model}`.slice(0, 200),
        ...(search ? { typedSearchAttributes: attributesOfSession(session) } : {}),
      });
    } catch (fault) {
      if (!(fault instanceof WorkflowExecutionAlreadyStartedError)) throw fault;
    }
    return this.getHandle(session);
  }

  private async input(start: SessionStart): Promise<ToolSessionInput> {
    const { session, agentVersion, model, tools = [], instructions, requester, mode, kind, limits = {} } = start;
    if (!isSessionName(session)) refuse('session', 'must be 1 to 64 characters of [A-Za-z0-9._-]');
    if (!isSessionName(agentVersion)) refuse('agentVersion', 'must be 1 to 64 characters of [A-Za-z0-9._-]');
    if (requester !== undefined && !isPerson(requester)) {
      refuse('requester', 'must be a person such as person:example.org/clerk-1');
    }
    if (model === '') refuse('model', 'must name a model of the workers');
    const bound = tools.map(({ tool, version = null, sideEffect }) => ({
      ...{ tool, version },
      ...(sideEffect === undefined ? {} : { sideEffect }),
    }));
    bound.forEach(queueNameOf);
    if (new Set(bound.map(({ tool }) => tool)).size !== bound.length) refuse('tools', 'must name each tool once');
    return {
      ...{ session_id: session, agent_version: agentVersion, model, tools: bound },
      instructions: instructions === undefined ? null : await this.put(instructions),
      ...(requester === undefined ? {} : { requester: personDigest(requester) }),
      ...(mode === undefined ? {} : { mode }),
      ...(kind === undefined ? {} : { kind }),
      limits: limitsOf(limits),
      journal_id: await this.journal.id(),
    };
  }

  getHandle(session: string): SessionHandle {
    const workflow = this.options.client.workflow.getHandle<typeof toolSession>(sessionWorkflowId(session));
    return {
      ...{ session, workflowId: workflow.workflowId, workflow },
      send: async (text, { id = `msg_${randomBytes(16).toString('hex')}` } = {}) =>
        this.say(workflow, id, await this.put(text)),
      attach: (options) => this.events(session, options),
      status: () => workflow.query<ToolSessionStatus>('session_status'),
      cancel: () => told(() => workflow.executeUpdate<ToolSessionStatus, []>('cancel_session', { args: [] })),
      complete: () => told(() => workflow.executeUpdate<ToolSessionStatus, []>('complete_session', { args: [] })),
      result: () => workflow.result(),
    };
  }

  private say(workflow: WorkflowHandle<typeof toolSession>, id: string, message: string): Promise<MessageTaken> {
    const args: [unknown] = [{ message_id: id, message }];
    return told(() => workflow.executeUpdate<MessageTaken, [unknown]>('send', { updateId: `send-${id}`, args }));
  }

  private async *events(
    session: string,
    { after = 0, signal }: AttachOptions = {},
  ): AsyncIterableIterator<SessionEvent> {
    const shelf = new SessionShelf(this.journal);
    const stopped = (): boolean => signal?.aborted === true;
    for (let next = after; !stopped();) {
      const log = await shelf.log(session);
      for (; next < log.length && !stopped(); next += 1) yield await this.event(log[next] as SessionRecord);
      if (log.some(({ event }) => isEnd(event.type))) return;
      await sleep(POLL_MS, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  }

  private async event({ sequence, at, event }: SessionRecord): Promise<SessionEvent> {
    const { type } = event;
    const body = eventToBody(event);
    const digest = body[CONTENT_OF[type] ?? ''];
    return { sequence, at, type, body, content: typeof digest === 'string' ? await this.content(digest) : null };
  }

  private async content(digest: string): Promise<unknown> {
    try {
      return await this.contents.content(digest);
    } catch (fault) {
      if (fault instanceof Refusal && fault.code === 'content_missing') return null;
      throw fault;
    }
  }

  private put(text: string): Promise<string> {
    if (typeof text !== 'string' || text.length > MOST_BYTES)
      refuse('message', `must be a text of at most ${MOST_BYTES} characters`);
    return this.contents.putContent(text);
  }
}

/** The field of an event that names content. */
const CONTENT_OF: Partial<Record<SessionEventType, string>> = {
  'message.user': 'message',
  'message.assistant': 'message',
  'tool.requested': 'args_digest',
  'tool.completed': 'result_digest',
};

function isEnd(type: SessionEventType): boolean {
  return type === 'session.completed' || type === 'session.failed' || type === 'session.cancelled';
}

function limitsOf({ tokens, rounds, wallClockMs }: NonNullable<SessionStart['limits']>): SessionLimits {
  for (const [name, limit] of Object.entries({ tokens, rounds, wallClockMs })) {
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
      refuse(`limits.${name}`, 'must be 1 or more');
  }
  return { tokens: tokens ?? null, rounds: rounds ?? null, wall_clock_ms: wallClockMs ?? null };
}

/** A refusal of the workflow as such. Asked again while its workers come and go: each of these Updates says the same twice. */
async function told<T>(update: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await update();
    } catch (fault) {
      if (fault instanceof ServiceError && isPassing(fault) && tries < MOST_TRIES) {
        await sleep(BETWEEN_TRIES_MS);
        continue;
      }
      throw refusalIn(fault) ?? fault;
    }
  }
}

/** `FAILED_PRECONDITION`: the last workers that had the workflow went away before they answered. */
function isPassing({ cause }: ServiceError): boolean {
  return (cause as { code?: unknown } | undefined)?.code === 9;
}

function refuse(field: string, reason: string): never {
  throw new Refusal('invalid_arguments', reason, field);
}
