/**
 * How a workflow carries a session: a message, then rounds of the model and its calls until it has nothing more to ask. Invariant: the
 * answer of a round is recorded before any of its calls is begun; every call goes by itself, so none holds up another; and a session
 * that waits has nothing running but timers.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  proxyActivities,
} from '@temporalio/workflow';
import {
  SESSION_PREPARE_ACTIVITY,
  SESSION_ROUND_ACTIVITY,
  type PreparedCall,
  type RoundResult,
  type SessionActivities,
} from '../activities/session-contract';
import type { SessionFailure, SessionStatus } from '../rules/invocations/vocabulary';
import { definitionDigest, type SessionDefinition } from '../rules/sessions/definition-record';
import { SessionClock } from './session-clock';
import { SessionLog } from './session-log';
import type { CallReport } from './queue-messages';
import type {
  CarriedSession,
  SessionLimits,
  ToolSessionInput,
  ToolSessionStatus,
  UserMessage,
} from './session-messages';
import { QueueDoor } from './session-queue';
import { SessionStory } from './session-story';
import { ToolCall, type CallHost } from './tool-call';

const MODEL = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute', maximumAttempts: 20 },
  cancellationType: 'TRY_CANCEL',
} as const;
const PREPARE = {
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '30 seconds' },
} as const;
/** Names of messages that are remembered, so that one that comes again is no new one. */
const MOST_HANDLED = 1_000;

export type SessionEnd = 'ended' | 'renew';

export class SessionLoop {
  status: SessionStatus = 'pending';
  failure: SessionFailure | null = null;
  closed = false;
  completing = false;
  private cancelling = false;
  private turn: number;
  private round: number;
  private asked: string | null;
  private readonly inbox: UserMessage[];
  private readonly handled: Set<string>;
  private readonly tokens: { input: number; output: number };
  private readonly definition: SessionDefinition;
  private readonly log: SessionLog;
  private readonly clock: SessionClock;
  private readonly limits: SessionLimits;
  private readonly story = new SessionStory();
  private calls: readonly ToolCall[] = [];
  /** What of the turn is under way and ends when nothing more is wanted. */
  private scope: CancellationScope | null = null;

  constructor(
    private readonly input: ToolSessionInput,
    private readonly wantsRenewal: () => boolean,
  ) {
    const { carried, limits = {} } = input;
    this.definition = {
      ...{ session: input.session_id, agentVersion: input.agent_version, model: input.model },
      ...{ tools: input.tools, instructions: input.instructions, requester: input.requester ?? null },
    };
    this.turn = carried?.turn ?? 0;
    this.round = carried?.round ?? 0;
    this.asked = carried?.asked ?? null;
    this.inbox = [...(carried?.inbox ?? (input.message === undefined ? [] : [input.message]))];
    this.handled = new Set(carried?.handled ?? (input.message === undefined ? [] : [input.message.message_id]));
    this.tokens = { ...(carried?.tokens ?? { input: 0, output: 0 }) };
    this.log = new SessionLog(this.definition, carried?.journal_id ?? input.journal_id ?? null, carried?.log ?? null);
    this.clock = new SessionClock(carried?.started_at ?? Date.now(), carried?.waited_ms ?? 0);
    this.limits = { tokens: null, rounds: null, wall_clock_ms: null, ...limits };
  }

  /** A message that is known already is not taken a second time. */
  take(message: UserMessage): void {
    if (this.handled.has(message.message_id)) return;
    this.handled.add(message.message_id);
    for (const oldest of this.handled) {
      if (this.handled.size <= MOST_HANDLED) break;
      this.handled.delete(oldest);
    }
    this.inbox.push(message);
  }

  get pendingMessages(): number {
    return this.inbox.length;
  }

  get waiting(): number {
    return this.inbox.length + (this.asked === null ? 0 : 1);
  }

  cancel(): void {
    this.cancelling = true;
    this.scope?.cancel();
    for (const call of this.calls) call.cancel();
  }

  /** Of a request that is not the last one of its call, nobody wants to know any more. */
  hear(report: CallReport): void {
    const call = this.calls.find(({ callId }) => callId === report.call_id);
    if (call !== undefined && report.request === call.request) call.report = report;
  }

  async run(): Promise<SessionEnd> {
    if (this.input.carried === undefined) this.started();
    for (;;) {
      const end = await this.nextTurn();
      await this.log.written();
      if (end === 'renew' && this.wantsRenewal()) return 'renew';
      if (end === 'over') break;
    }
    this.closed = true;
    return 'ended';
  }

  private async nextTurn(): Promise<'renew' | 'over' | 'on'> {
    if (this.asked === null) {
      if (this.inbox.length === 0 && !this.cancelling && !this.completing) await this.park();
      const next = this.cancelling ? undefined : this.inbox.shift();
      if (next === undefined) {
        if (!this.cancelling && !this.completing) return 'renew';
        return this.ends(this.cancelling ? 'cancelled' : 'completed');
      }
      this.turn += 1;
      this.round = 0;
      this.asked = next.message;
      this.log.say({ type: 'message.user', turn: this.turn, message: next.message });
    }
    const over = await this.rounds();
    if (over === 'renew') return 'renew';
    if (this.failure !== null) return this.ends('failed');
    if (this.cancelling) return this.ends('cancelled');
    this.asked = null;
    return this.input.kind === 'child' ? this.ends('completed') : 'on';
  }

  /** Until somebody says something, or the workflow would rather continue as new. */
  private async park(): Promise<void> {
    this.enter('awaiting_input');
    await this.log.written();
    await condition(() => this.inbox.length > 0 || this.cancelling || this.completing || this.wantsRenewal());
    this.enter('running');
  }

  private async rounds(): Promise<'renew' | 'over'> {
    this.enter('running');
    const watch =
      this.limits.wall_clock_ms === null
        ? null
        : this.clock.watch(this.limits.wall_clock_ms, () => this.fail('limit:wall_clock'));
    try {
      for (;;) {
        if (this.over || this.exceeded()) return 'over';
        const answer = await this.ask();
        if (answer === null || answer.calls.length === 0) return 'over';
        const calls = this.over ? [] : await this.prepare();
        await this.carry(calls);
        if (!this.over && this.wantsRenewal()) return 'renew';
      }
    } finally {
      watch?.();
    }
  }

  private get over(): boolean {
    return this.cancelling || this.failure !== null;
  }

  private exceeded(): boolean {
    const { rounds, tokens } = this.limits;
    if (tokens !== null && this.tokens.input + this.tokens.output >= tokens) this.fail('limit:tokens');
    else if (rounds !== null && this.round >= rounds) this.fail('limit:rounds');
    return this.failure !== null;
  }

  /** The next answer of the model, or null where there will be none. */
  private async ask(): Promise<RoundResult | null> {
    await this.log.written();
    this.round += 1;
    const { turn, round } = this;
    const message = this.asked ?? '';
    const activities = proxyActivities<SessionActivities>({ ...MODEL, summary: `model: turn ${turn}, round ${round}` });
    const { session_id } = this.input;
    const request = { session_id, journal_id: this.log.journalId, turn, round, message };
    const answer = await this.scoped(() => activities[SESSION_ROUND_ACTIVITY](request));
    if (answer === null) {
      if (!this.over) this.fail('model:failed');
      return null;
    }
    // Before a reset, this turn was that of another message: ours comes after it.
    if (answer.message !== message) this.inbox.unshift({ message_id: `turn-${turn}`, message });
    this.asked = answer.message;
    this.tokens.input += answer.usage.input;
    this.tokens.output += answer.usage.output;
    this.log.say({
      type: 'message.assistant',
      ...{ turn, round, message: answer.text, stop: answer.stop },
      inputTokens: answer.usage.input,
      outputTokens: answer.usage.output,
      calls: answer.calls.map(({ tool, args_digest: argsDigest }) => ({ tool, argsDigest })),
    });
    return answer;
  }

  private async prepare(): Promise<readonly PreparedCall[]> {
    const { turn, round } = this;
    const activities = proxyActivities<SessionActivities>({
      ...PREPARE,
      summary: `prepare: turn ${turn}, round ${round}`,
    });
    const request = { session_id: this.input.session_id, journal_id: this.log.journalId, turn, round };
    return (await this.scoped(() => activities[SESSION_PREPARE_ACTIVITY](request)))?.calls ?? [];
  }

  private async carry(prepared: readonly PreparedCall[]): Promise<void> {
    const queues = new QueueDoor();
    const host: CallHost = {
      journalId: () => this.log.journalId,
      say: (event, time, at) => {
        this.log.say(event, time, at);
        this.settle();
      },
      enqueue: (call) => queues.enqueue(call),
      withdraw: (call) => queues.withdraw(call),
      fail: (failure) => this.fail(failure),
    };
    this.calls = prepared.map((call) => new ToolCall(call, host));
    this.settle();
    await Promise.all(
      this.calls.map(async (call) => {
        await call.run();
        this.settle();
      }),
    );
    this.calls = [];
    if (!this.over) this.enter('running');
  }

  /** Where the calls have brought the session; what they said is written beside them. */
  private settle(): void {
    const open = this.calls.filter((call) => !call.isOver);
    if (open.length > 0) this.enter(open.every((call) => call.waitsForPeople) ? 'awaiting_approval' : 'awaiting_tool');
    // Whoever waits for it hears why it cannot be written.
    this.log.written().catch(() => undefined);
  }

  private async scoped<T>(act: () => Promise<T>): Promise<T | null> {
    const scope = new CancellationScope();
    this.scope = scope;
    try {
      return await scope.run(act);
    } catch (fault) {
      if (fault instanceof ActivityFailure && fault.cause instanceof ApplicationFailure && fault.cause.nonRetryable) {
        throw fault.cause;
      }
      if (!(fault instanceof ActivityFailure) && !this.over) throw fault;
      return null;
    } finally {
      this.scope = null;
    }
  }

  private fail(failure: SessionFailure): void {
    if (this.over) return;
    this.failure = failure;
    this.scope?.cancel();
    for (const call of this.calls) call.cancel();
  }

  private started(): void {
    const { agent_version: agentVersion, mode = 'interactive', kind = 'root' } = this.input;
    const { tokens, rounds, wall_clock_ms: wallClockMs } = this.limits;
    this.log.say({
      type: 'session.started',
      ...{ agentVersion, mode, kind, definition: definitionDigest(this.definition) },
      requester: this.definition.requester,
      limits: { tokens, rounds, wallClockMs },
    });
  }

  private ends(status: 'completed' | 'failed' | 'cancelled'): 'over' {
    this.enter(status);
    const { failure } = this;
    this.log.say(
      status === 'failed' ? { type: 'session.failed', code: failure ?? 'model:failed' } : { type: `session.${status}` },
    );
    return 'over';
  }

  private enter(status: SessionStatus): void {
    this.status = status;
    this.clock.pause(status === 'awaiting_input' || status === 'awaiting_approval');
    this.story.tell(this.view());
  }

  get carried(): CarriedSession {
    const { turn, round, asked, log } = this;
    if (log.head === null || log.journalId === null) throw new Error('a session continues as new only with a log');
    return {
      ...{ turn, round, asked, log: log.head, journal_id: log.journalId },
      inbox: this.inbox,
      handled: [...this.handled],
      tokens: this.tokens,
      started_at: this.clock.startedAt,
      waited_ms: this.clock.waitedMs,
    };
  }

  view(): ToolSessionStatus {
    const { input, log, turn, round, tokens, status, failure } = this;
    return {
      ...{ session_id: input.session_id, agent_version: input.agent_version, journal_id: log.journalId },
      ...{ status, failure, turn, round, tokens: { ...tokens }, log: log.head },
      pending_messages: this.inbox.length,
      calls: this.calls.map((call) => call.status()),
      started_at: this.clock.startedAt,
      waited_ms: this.clock.waitedMs,
    };
  }
}
