/**
 * The interfaces to the world: sinks that receive effects, launchers that start workers, checks, models, and stores that keep what
 * must survive.
 *
 * Invariant: a port only says what happened. What it means (may this be sent, is it committed) is decided by `rules/`,
 * so no adapter can be too trusting on its own.
 */
import type { Jwks } from './rules/receipts/jwks';
import type { CompensationLimit, EffectKind } from './rules/recovery';
import type { KeyEnforcement, LookupStrength, SideEffectClass, SinkAnswer } from './rules/sends/traits';
import type { CheckOutcome } from './rules/verification/results';

export type { KeyEnforcement, LookupStrength, SideEffectClass, SinkAnswer } from './rules/sends/traits';

/** One effect as a sink sees it. `operation` is content: it never leaves the worker that holds it. */
export interface SinkItem {
  readonly toolId: string;
  readonly actionId: string;
  readonly idempotencyKey: string;
  /** Digest of the salted operation envelope; a sink stores it beside the key, so that a look-up can compare. */
  readonly operationDigest: string;
  readonly operation: unknown;
  /** The call of a tool session that this effect is. Absent for every other effect. */
  readonly callId?: string;
}

/** Limits of one call to a sink. The engine treats a call that outlives them as an unknown outcome. */
export interface SinkContext {
  /** Aborted at the deadline, or when the worker must stop. Pass it to every client call. */
  readonly signal: AbortSignal;
  /** Milliseconds that this call may still take, measured when the context was made. */
  readonly deadlineMs: number;
}

/** The three outcomes of one send that a sink may claim. Anything else it must throw: a throw is an unknown outcome. */
export type DispatchOutcome =
  | { readonly outcome: 'accepted'; readonly externalId: string | null; readonly result?: unknown }
  /** The sink judged the operation and will never carry it out. `code` is a short stable word without content. */
  | { readonly outcome: 'refused'; readonly code: string }
  /** Proven not to have reached the sink's state: a connection never made, a 429. */
  | { readonly outcome: 'not_sent'; readonly retryAfterMs?: number };

/** Where effects of one kind of tool go. */
export interface EffectSink {
  readonly kind: EffectKind;
  /** @default 'non_idempotent_write' */
  readonly sideEffect?: SideEffectClass;
  readonly lookup: LookupStrength;
  readonly enforcesKey: KeyEnforcement;
  /** Longest time that one send or look-up may take, in milliseconds. */
  readonly deadlineMs: number;
  /** How long after the deadline a write may still become visible, in milliseconds. */
  readonly settleMs: number;
  /** How long the sink remembers a key, in milliseconds. Absent: for ever. */
  readonly horizonMs?: number;
  /** Most sends at once in a plan of independent effects. @default 1 */
  readonly maxInFlight?: number;
  /** Least time between two sends, in milliseconds. @default 0 */
  readonly minIntervalMs?: number;
  /** Start-up self-test: create, find, refuse twice. Throws when the sink does not keep what this object declares. */
  probe?(): Promise<void>;
  /** Looks up every item by its key, in order, without changing anything. One answer an item. */
  observe(items: readonly SinkItem[], context: SinkContext): Promise<readonly SinkAnswer[]>;
  /** Sends one item once, with the client library's own retries off. */
  dispatch(item: SinkItem, context: SinkContext): Promise<DispatchOutcome>;
}

/** One tool that plans may name: its governed id, its sink, and what this worker demands before a send. */
export interface EffectDefinition {
  /** Governed id, as in `tool:example.org/reserve@1.0.0`. */
  readonly toolId: string;
  readonly sink: EffectSink;
  /** Sends that may be begun for one effect before a person must decide. @default 3 */
  readonly maxAttempts?: number;
  /** A plan that uses this tool needs an approval even where it does not ask for one. @default false */
  readonly approvalRequired?: boolean;
  /** @default 'none' */
  readonly compensationLimit?: CompensationLimit;
  /** Checks an author's arguments before they become an operation. @default takes anything */
  readonly checkInput?: ContentCheck;
  /** Checks what the sink gave back. @default nothing is given back to the author */
  readonly checkOutput?: ContentCheck;
  /** Fields of a checked result that may enter a history. @default none */
  readonly exposed?: readonly string[];
}

/** One authorized launch as a launcher sees it. What the worker shall do is content, and behind the door. */
export interface LaunchJob {
  readonly jobId: string;
  readonly role: string;
  readonly provider: string;
  readonly model: string;
  readonly contextDigest: string;
}

/** What became of a submission. `replayed`: this very output had been taken before. */
export type SubmitAnswer =
  | { readonly taken: true; readonly submission: string; readonly replayed: boolean }
  /** `code` is that of a `Refusal`; another output was taken, or the job is over. */
  | { readonly taken: false; readonly code: string };

/** All that the worker of one job may do. Who it is, the credential says for which the door was opened. */
export interface WorkerDoor {
  /** The context that was authorized. Throws a `Refusal`: for a worker that is unknown, too late, or whose job is over. */
  fetchContext(): Promise<unknown>;
  /** The worker's one result, as JSON. */
  submit(output: unknown): Promise<SubmitAnswer>;
}

/** Opens the door of a credential. A credential that nobody was given leads to a door that refuses everything. */
export type WorkerDoors = (credential: string) => WorkerDoor;

export interface LaunchContext extends SinkContext {
  /** Random, made for this launch. Hand it to the worker and to nobody else, never as an argument of a process. */
  readonly credential: string;
  readonly door: WorkerDoor;
  /** The worker is known to have ended. Where it has not submitted, its job is over, and `how` stands in the worker's log. */
  readonly exited: (how?: WorkerExit) => void;
}

/** Of a process: its exit code, or the signal that ended it. */
export interface WorkerExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The three outcomes of one launch that a launcher may claim. A throw is an unknown outcome. */
export type LaunchOutcome =
  /** The worker runs, or has run. */
  | { readonly outcome: 'started' }
  /** The provider will not do it, and has not begun. `code` is a short stable word without content. */
  | { readonly outcome: 'refused'; readonly code: string }
  /** Proven that nothing left this process: a program that is not there, a connection never made. */
  | { readonly outcome: 'not_launched' };

/** Starts workers of one provider. Nothing that it uses may try a second time by itself. */
export interface Launcher {
  /** Longest time that one launch may take, in milliseconds. */
  readonly deadlineMs: number;
  launch(job: LaunchJob, context: LaunchContext): Promise<LaunchOutcome>;
  /**
   * Begins to hear workers that come back by themselves, also those of an earlier process. Called when a Temporal worker starts;
   * the answer ends it.
   */
  listen?(doors: WorkerDoors): Promise<() => Promise<void>>;
}

/** One question to a check that runs in the worker. All of it is content: do not log it. */
export interface CheckQuestion {
  readonly criterion: string;
  readonly check: string;
  readonly configuration: unknown;
  /** What is checked. */
  readonly target: unknown;
  /** All of what the target is a part of; null where a run shows the captured target only. */
  readonly whole: unknown;
  readonly goal: unknown;
  /** What must not be changed; null when nothing is protected. */
  readonly protectedIntent: unknown;
}

export interface CheckAnswer {
  readonly outcome: CheckOutcome;
  /** What was found, as JSON; it goes to the content store. @default nothing */
  readonly content?: unknown;
}

/** A check that runs in the worker. It may run again after a crash, so it must change nothing. */
export interface InProcessCheck {
  /** Longest time that one answer may take, in milliseconds. @default 60000 */
  readonly deadlineMs?: number;
  /** A throw, or an answer that comes too late, counts as `inconclusive`; the worker's log then names the class of the error. */
  run(question: CheckQuestion, context: { readonly signal: AbortSignal }): CheckAnswer | Promise<CheckAnswer>;
}

/** Never throws; `faults` name fields of the schema and kinds of fault, never what was given. */
export type ContentCheck = (
  value: unknown,
) => Promise<
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly faults: readonly string[] }
>;

/** One tool as a model is told of it. */
export interface ModelTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** `id` names a call in the conversation: 64 characters at most, the same for ever. */
export interface ModelToolCall {
  readonly id: string;
  readonly tool: string;
  readonly args: unknown;
}

/** What came of a call. `value` is its result, or `{code, message}` where it failed. */
export interface ModelToolResult {
  readonly id: string;
  readonly tool: string;
  readonly ok: boolean;
  readonly value: unknown;
}

/** The conversation so far. The results of a round stand in the order of its calls. */
export type ModelMessage =
  | { readonly role: 'system'; readonly text: string }
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly toolCalls: readonly ModelToolCall[] }
  | { readonly role: 'tool'; readonly results: readonly ModelToolResult[] };

export interface ModelRequest {
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ModelTool[];
}

export const MODEL_STOPS = ['end', 'tool_calls', 'length', 'refused', 'other'] as const;
export type ModelStop = (typeof MODEL_STOPS)[number];

export interface ModelAnswer {
  readonly text: string;
  /** In the order in which their results are wanted. */
  readonly toolCalls: readonly Omit<ModelToolCall, 'id'>[];
  /** Tokens that the provider counted. */
  readonly usage: { readonly input: number; readonly output: number };
  /** Why it stopped. */
  readonly stop: ModelStop;
}

/** A language model: one request, one answer. Nothing that it uses may try a second time by itself. */
export interface Model {
  readonly name: string;
  /** Longest time that one request may take, in milliseconds. */
  readonly deadlineMs: number;
  /** A throw is no answer: the same request may be made again, until an answer is recorded. */
  generate(request: ModelRequest, context: SinkContext): Promise<ModelAnswer>;
}

export type CreateOutcome = 'created' | 'identical' | 'conflict';

/**
 * One put-if-absent port for chain, slots, witnesses, receipts, claims and contents.
 *
 * Paths are relative, with `/` between segments of `[A-Za-z0-9._-]`. When `create` returns, the entry is durable; when
 * it throws a `StoreError`, nothing is known about the entry until it is read back.
 */
export interface Store {
  /** `host`: sound only among processes of one machine. `shared`: sound for every process that reaches it. */
  readonly scope: 'host' | 'shared';
  /** Start-up self-test, for a store whose server may not keep what a create promises. Throws when it does not. @default none */
  probe?(): Promise<void>;
  create(path: string, bytes: Uint8Array): Promise<CreateOutcome>;
  /**
   * Like one `create` after the other, for a store that can flush them together: an entry becomes visible only when every one
   * before it was `created` or `identical`. Stops at the first `conflict`, so there may be fewer outcomes than entries.
   * @default callers create one after the other
   */
  createInOrder?(entries: readonly (readonly [path: string, bytes: Uint8Array])[]): Promise<readonly CreateOutcome[]>;
  /** The bytes, or `null` when there is no such entry. */
  read(path: string): Promise<Uint8Array | null>;
  /** Names directly below `prefix` in byte order, folders with a trailing `/`; only those after `after` when given. */
  list(prefix: string, after?: string): Promise<readonly string[]>;
}

/** A store for operation contents and results: it can also erase, which a journal never does. */
export interface ContentStore extends Store {
  delete(path: string): Promise<void>;
}

/** Where the keys of those who may decide come from: trusted custody, outside of Temporal and of the journal. */
export interface Reviewers {
  /**
   * The keys as of at most a minute ago. With `kid`, as of now when that key is not among them, so that a key added since is
   * found; a custody may bound how often. Throws a `Refusal` `reviewers_unavailable` when it cannot say.
   */
  load(kid?: string): Promise<Jwks>;
}

export type SpanAttributes = Readonly<Record<string, string | number>>;

/** Where calls to sinks are told as spans of a trace. */
export interface Spans {
  /**
   * Runs `call` inside a span, a child of the caller's. `ended` says how it went; it must not throw. What `call` throws is thrown
   * on, and no word of it is told.
   */
  within<T>(
    name: string,
    attributes: SpanAttributes,
    call: () => Promise<T>,
    ended: (value: T) => { readonly ok: boolean; readonly attributes: SpanAttributes },
  ): Promise<T>;
}

/** What a store could not do. The message names the entry and the fault, never what the entry holds. */
export type StoreErrorCode =
  | 'store_unavailable'
  | 'store_read_only'
  | 'store_permission_denied'
  | 'store_full'
  | 'store_entry_too_large'
  | 'store_unsafe_entry'
  | 'store_invalid_path'
  | 'store_io_failed';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  constructor(
    readonly code: StoreErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(`${code}: ${message}`, options);
  }
}
