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
import type { SessionEvent } from '../rules/invocations/session-event';
import type { SessionFailure, SessionStatus } from '../rules/invocations/vocabulary';
import { definitionDigest, type SessionDefinition } from '../rules/sessions/definition-record';
import { SessionCalls } from './session-calls';
import { SessionClock } from './session-clock';
import { SessionHeldUp } from './session-held-up';
import { Inbox } from './session-inbox';
import { SessionLimits, type LimitHost } from './session-limits';
import { SessionLog } from './session-log';
import type {
  CarriedSession,
  SessionLimits as SessionLimitsInput,
  ToolSessionInput,
  ToolSessionStatus,
} from './session-messages';
import { SessionStory } from './session-story';

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

/** Stands for the message of a turn that this history does not know; the journal does. */
const UNSEEN = '';

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
  readonly inbox: Inbox;
  private readonly tokens: { input: number; output: number };
  private readonly definition: SessionDefinition;
  private readonly log: SessionLog;
  private readonly clock: SessionClock;
  private readonly limits: SessionLimits;
  private readonly most: SessionLimitsInput;
  private readonly story = new SessionStory();
  readonly calls: SessionCalls;
  readonly heldUp = new SessionHeldUp(() => this.story.show(this.view()));
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
    this.inbox = new Inbox(carried, input.message);
    this.tokens = { ...(carried?.tokens ?? { input: 0, output: 0 }) };
    this.log = new SessionLog(this.definition, carried?.journal_id ?? input.journal_id ?? null, carried?.log ?? null);
    this.clock = new SessionClock(carried?.started_at ?? Date.now(), carried?.waited_ms ?? 0);
    this.most = { tokens: null, rounds: null, wall_clock_ms: null, ...limits };
    const host = {
      journalId: () => this.log.journalId,
      say: (event: SessionEvent, time?: number, at?: number) => this.say(event, time, at),
      fail: (failure: SessionFailure) => this.fail(failure),
      changed: () => this.settle(),
    };
    this.calls = new SessionCalls(host);
    this.limits = new SessionLimits({ ...host, ...this.limitHost() }, carried?.granted);
  }

  private limitHost(): Pick<LimitHost, 'session' | 'limits' | 'spent'> {
    const { tokens, rounds, wall_clock_ms: wall_clock } = this.most;
    return {
      session: this.input.session_id,
      limits: { tokens, rounds, wall_clock },
      spent: () => ({
        tokens: this.tokens.input + this.tokens.output,
        rounds: this.round,
        wall_clock: this.clock.runMs,
      }),
    };
  }

  private say(event: SessionEvent, time?: number, at?: number): void {
    this.log.say(event, time, at);
    this.settle();
  }

  get waiting(): number {
    return this.inbox.size + (this.asked === null ? 0 : 1);
  }

  cancel(): void {
    this.cancelling = true;
    this.limits.cancel();
    this.scope?.cancel();
    this.calls.cancel();
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
      if (this.inbox.size === 0 && !this.cancelling && !this.completing) await this.park();
      const next = this.cancelling ? undefined : this.inbox.next();
      if (next === undefined && (this.cancelling || !this.isBehind)) {
        if (!this.cancelling && !this.completing) return 'renew';
        return this.ends(this.cancelling ? 'cancelled' : 'completed');
      }
      this.turn += 1;
      this.round = 0;
      this.asked = next?.message ?? UNSEEN;
      if (next !== undefined) this.log.say({ type: 'message.user', turn: this.turn, message: next.message });
    }
    if ((await this.rounds()) === 'renew') return 'renew';
    if (this.failure !== null) return this.ends('failed');
    if (this.cancelling) return this.ends('cancelled');
    this.asked = null;
    return this.input.kind === 'child' ? this.ends('completed') : 'on';
  }

  /** Until somebody says something, or the workflow would rather continue as new. */
  private async park(): Promise<void> {
    this.enter('awaiting_input');
    await this.log.written();
    const goesOn = (): boolean => this.inbox.size > 0 || this.cancelling || this.completing || this.isBehind;
    await condition(() => goesOn() || this.wantsRenewal());
    this.enter('running');
  }

  /** Before a reset there was a turn more. */
  private get isBehind(): boolean {
    return this.log.place.turn > this.turn;
  }

  private async rounds(): Promise<'renew' | 'over'> {
    this.enter('running');
    const { limits } = this;
    const unwatch = this.clock.watch(
      () => limits.wallClockLeftMs,
      () => CancellationScope.nonCancellable(() => limits.mayGoOn()),
    );
    try {
      for (;;) {
        if (this.over || !(await limits.mayGoOn())) return 'over';
        const answer = await this.ask();
        if (answer === null || answer.calls.length === 0) return 'over';
        // What the calls are asked for stands in the log before the first of them is begun.
        const [calls] = await Promise.all([this.over ? [] : this.prepare(), this.log.written()]);
        await this.carry(calls);
        if (!this.over && this.wantsRenewal() && (await limits.settled())) return 'renew';
      }
    } finally {
      unwatch();
      await limits.settled();
    }
  }

  private get over(): boolean {
    return this.cancelling || this.failure !== null;
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
    // An answer that comes while people are asked about a limit waits for them.
    if (!(await this.limits.settled()) || this.failure !== null) return null;
    // Before a reset, this turn was that of another message: ours comes after it.
    if (answer.message !== message && message !== UNSEEN) {
      this.inbox.putBack({ message_id: `turn-${turn}`, message });
    }
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
    const { turn, round } = this;
    await this.calls.carry({ turn, round }, prepared, this.over);
    if (!this.over) this.settle();
  }

  /** Where the calls have brought the session; what they said is written beside them. */
  private settle(): void {
    const { waitFor } = this.calls;
    if (this.limits.review !== null || waitFor === 'people') this.enter('awaiting_approval');
    else if (waitFor === 'workers') this.enter('awaiting_tool');
    else if (this.status === 'awaiting_approval' || this.status === 'awaiting_tool') this.enter('running');
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
      this.heldUp.clear();
    }
  }

  private fail(failure: SessionFailure): void {
    if (this.over) return;
    this.failure = failure;
    this.limits.cancel();
    this.scope?.cancel();
    this.calls.cancel();
  }

  private started(): void {
    const { agent_version: agentVersion, mode = 'interactive', kind = 'root' } = this.input;
    const { tokens, rounds, wall_clock_ms: wallClockMs } = this.most;
    this.log.say({
      type: 'session.started',
      ...{ agentVersion, mode, kind, definition: definitionDigest(this.definition) },
      requester: this.definition.requester,
      limits: { tokens, rounds, wallClockMs },
    });
  }

  private async ends(status: 'completed' | 'failed' | 'cancelled'): Promise<'over'> {
    if (status !== 'completed') await this.endUnknown();
    this.heldUp.clear();
    this.enter(status);
    const code = this.failure ?? 'model:failed';
    this.log.say(status === 'failed' ? { type: 'session.failed', code } : { type: `session.${status}` });
    return 'over';
  }

  /** Before a reset there may have been calls that this history does not know: none of them is begun any more. */
  private async endUnknown(): Promise<void> {
    await this.log.written();
    const { turn, round } = this.log.place;
    if (round === 0 || this.calls.hasCarried({ turn, round })) return;
    this.turn = turn;
    this.round = round;
    await this.carry(await this.prepare());
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
      ...this.inbox.carried,
      tokens: this.tokens,
      started_at: this.clock.startedAt,
      waited_ms: this.clock.waitedMs,
      granted: this.limits.granted,
    };
  }

  view(): ToolSessionStatus {
    const { input, log, turn, round, tokens, status, failure } = this;
    return {
      ...{ session_id: input.session_id, agent_version: input.agent_version, journal_id: log.journalId },
      ...{ status, failure, turn, round, tokens: { ...tokens }, log: log.head, held_up: this.heldUp.first },
      pending_messages: this.inbox.size,
      calls: this.calls.statuses,
      started_at: this.clock.startedAt,
      waited_ms: this.clock.waitedMs,
    };
  }
}
