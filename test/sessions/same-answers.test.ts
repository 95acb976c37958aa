/**
 * Random commands, given to a session on a real server and to the rules alone. In every state that they come to, the workflow, its log as
 * an auditor reads it, and the rules, which were told nothing but what the world did, say the same:
 * - where the session and each of its calls stand, its turn, and why it ended; which commands are refused;
 * - also while messages wait, calls are held or asked about, its worker is replaced, and it is cancelled or completed in the middle.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src';
import { Journal } from '../../src/activities/journal';
import { SessionShelf } from '../../src/activities/session-shelf';
import { ToolError, defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { SessionHandle } from '../../src/client';
import { castVote } from '../../src/rules/invocations/approval';
import { nextSessionStep, type CallAction } from '../../src/rules/invocations/next-session-step';
import type { SessionEvent } from '../../src/rules/invocations/session-event';
import { SessionView } from '../../src/rules/invocations/session-view';
import { Refusal } from '../../src/rules/refusal';
import * as told from '../rules/invocations/story';
import { CHARGE, T0, callId, digest } from '../rules/invocations/support';
import { TestReviewers, approvalOf, rejectionOf } from '../support/reviewers';
import { useRig, type RigWorker } from '../support/rig';
import { SessionRig, auditedLog, uniqueTool } from './support';

const RUNS = Number(process.env['MODEL_RUNS'] ?? 4);
const KINDS = ['ok', 'ok', 'fails', 'held', 'held', 'asked', 'denied', 'unknown', 'invalid'] as const;
type Kind = (typeof KINDS)[number];
type Command =
  | { readonly do: 'say'; readonly kinds: readonly Kind[] }
  | { readonly do: 'approve' | 'reject' | 'release'; readonly pick: number }
  | { readonly do: 'restart' | 'complete' | 'cancel' };

const saying = (minLength: number): fc.Arbitrary<Command> =>
  fc.record({
    do: fc.constant('say' as const),
    kinds: fc.array(fc.constantFrom(...KINDS), { minLength, maxLength: 4 }),
  });
/** What cannot be done just now is left out. */
const ANY: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: saying(0) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('approve' as const, 'reject' as const, 'release' as const, 'release' as const),
      pick: fc.nat(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'complete' as const, 'cancel' as const) }),
  },
);
const COMMANDS = fc
  .tuple(saying(3), fc.array(ANY, { minLength: 10, maxLength: 14 }))
  .map(([first, others]): readonly Command[] => [first, ...others]);

/** What both sides have to agree on. Whether a call that waits for a worker has one already, its session hears late. */
interface Standing {
  readonly status: string;
  readonly turn: number;
  readonly calls: readonly string[];
}
function standingOf(view: SessionView): Standing {
  const waits = ['pending', 'queued', 'dispatched'];
  const calls = [...view.calls.values()].map(({ status, errorCode }) =>
    waits.includes(status) ? 'waits' : `${status} ${errorCode}`,
  );
  return { status: view.status, turn: view.turn, calls };
}

/** The rules, told what the world does. */
class Rules {
  readonly view = new SessionView('s1');
  readonly released = new Set<string>();
  private readonly inbox: (readonly Kind[])[] = [];
  private readonly kinds = new Map<string, Kind>();
  private wish: readonly Kind[] = [];
  private cancelling = false;
  private completing = false;
  private now = T0;

  get isOver(): boolean {
    return this.view.ended !== null;
  }

  /** Calls, by their place in all of them, of which one can say something. */
  places(wanted: 'asked' | 'held'): readonly number[] {
    return [...this.view.calls.values()].flatMap(({ callId: id, status }, place) => {
      const asked = status === 'awaiting_approval';
      const held = this.kinds.get(id) === 'held' && status === 'dispatched' && !this.released.has(id);
      return (wanted === 'asked' ? asked : held) ? [place] : [];
    });
  }

  idAt(place: number): string {
    return [...this.view.calls.keys()][place] as string;
  }

  /** False where it is refused. */
  give(command: Command, place: number): boolean {
    switch (command.do) {
      case 'say':
        if (this.isOver || this.completing) return false;
        this.inbox.push(command.kinds);
        break;
      case 'complete':
        if (this.inbox.length > 0) return false;
        this.completing = true;
        break;
      case 'cancel':
        this.cancelling = true;
        break;
      case 'release':
        this.released.add(this.idAt(place));
        break;
      case 'approve':
      case 'reject':
        this.vote(this.idAt(place), command.do);
        break;
      case 'restart':
    }
    this.settle();
    return true;
  }

  private vote(id: string, decision: 'approve' | 'reject'): void {
    const open = this.view.approvalsOf(id).find(({ status }) => status === 'pending');
    if (open === undefined) throw new Error('nobody is asked');
    const ballot = { person: digest('ann'), decision, at: this.now, requester: null, argsDigest: open.argsDigest };
    const step = castVote(open, ballot);
    this.say(told.vote(open, 'ann', decision));
    const { status } = step.approval;
    if (status === 'approved' || status === 'denied') this.say(told.decided(open, status));
  }

  private say(event: SessionEvent): void {
    this.view.take(event, this.now);
    this.now += 1;
  }

  settle(): void {
    for (let went = true; went;) went = this.step();
  }

  /** False where it waits. */
  private step(): boolean {
    const { view } = this;
    const step = nextSessionStep(view, this.now, this.cancelling);
    switch (step.does) {
      case 'start':
        this.say(told.started({ requester: null }));
        return true;
      case 'wait_for_input': {
        const next = this.inbox.shift();
        if (next === undefined && !this.completing) return false;
        if (next === undefined) this.say({ type: 'session.completed' });
        else {
          this.wish = next;
          this.say(told.user(view.turn + 1));
        }
        return true;
      }
      case 'ask_model': {
        const tools = step.round > 1 ? [] : this.wish.map((kind) => (kind === 'unknown' ? 'nosuch' : CHARGE.tool));
        this.say(told.answer(step.turn, step.round, tools));
        return true;
      }
      case 'request_calls':
        for (const index of step.indexes) this.request(index);
        return true;
      case 'go_on':
        return step.calls.filter(({ callId: id, action }) => this.act(id, action)).length > 0;
      case 'cancel':
        this.say({ type: 'session.cancelled' });
        return true;
      case 'complete':
        throw new Error('only a child completes by itself');
      case 'limit':
        throw new Error('there are no limits');
      case 'wait_for_people':
      case 'nothing':
        return false;
    }
  }

  private request(index: number): void {
    const { turn, round } = this.view.round ?? { turn: 0, round: 0 };
    const kind = this.wish[index] as Kind;
    this.kinds.set(callId(index, round, 's1', turn), kind);
    const unknown = kind === 'unknown' ? ({ tool: { tool: 'nosuch', version: null }, runId: null } as const) : {};
    this.say(told.requested(index, { turn, round, ...unknown }));
  }

  /** False where nothing has happened. */
  private act(id: string, action: CallAction): boolean {
    const kind = this.kinds.get(id) as Kind;
    const say = (event: SessionEvent): true => {
      this.say(event);
      return true;
    };
    switch (action) {
      case 'begin':
        if (kind === 'denied') return say({ type: 'tool.policy_denied', callId: id, rule: 'never' });
        if (kind === 'invalid') return say(told.unsent(id, 'call:invalid_arguments', this.now));
        if (kind !== 'asked') return say(told.queued(id, this.now));
        return say({
          type: 'approval.required',
          approval: told.question(id, this.now, { approvals: 1, expiryMs: null, route: null }),
        });
      case 'send_approved':
        return say(told.queued(id, this.now));
      case 'enqueue':
        return say(told.dispatched(id, this.now));
      case 'reject':
        return say(told.unsent(id, 'approval:denied', this.now));
      case 'give_up':
        return say(told.unsent(id, kind === 'unknown' ? 'call:unknown_tool' : 'session:cancelled', this.now));
      case 'resend':
      case 'look_up':
      case 'settle':
        if (kind === 'held' && !this.released.has(id)) return false;
        if (kind !== 'fails') return say(told.completed(id, this.now));
        return say(told.completed(id, this.now, { status: 'failed', resultDigest: null, errorCode: 'declined' }));
      case 'wait_for_people':
        return false;
      case 'ask_next':
      case 'keep_review':
        throw new Error(`${action} is none of these worlds`);
    }
  }
}

const rig = useRig();

/** The session on the server, and its world. */
class Real {
  private readonly gates = new Map<string, () => void>();
  private readonly tool: ToolHandler;
  private readonly play: SessionRig;
  private worker!: RigWorker;
  session!: SessionHandle;
  /** Of a command whose answer is not waited for. */
  fault: unknown = null;

  constructor() {
    const inputSchema = z.object({ kind: z.enum(KINDS).exclude(['invalid']) });
    this.tool = defineTool({
      ...{ tool: uniqueTool('work'), maxConcurrency: 50, inputSchema, settleMs: 100 },
      run: async ({ kind }, { callId: id }) => {
        if (kind === 'fails') throw new ToolError('declined');
        // The same place in another session's name.
        const place = (id ?? '').split(':').slice(2).join(':');
        if (kind === 'held') await new Promise<void>((resolve) => this.gates.set(place, resolve));
        return kind;
      },
    }) as ToolHandler;
    const reviewers = new TestReviewers();
    const about = (kind: Kind) => ({ field: 'kind', op: 'eq', value: kind }) as const;
    this.play = new SessionRig(rig, {
      ...{
        script: [],
        tools: [{ ...this.tool, capacity: 'native' as const, queueWaitMs: 60_000 }],
        toolWorker: { reviewers },
      },
      plugin: {
        reviewers,
        models: [this.model()],
        toolPolicies: [
          { name: 'never', scope: 'agent', decision: 'deny', conditions: about('denied') },
          { name: 'ask', scope: 'agent', decision: 'require_approval', conditions: about('asked') },
        ],
      },
    });
  }

  /** Asks for what the message wishes, and says nothing more when it has it. */
  private model(): Model {
    return {
      name: 'scripted',
      deadlineMs: 5_000,
      generate: ({ messages }) => {
        const last = messages.at(-1);
        const kinds = last?.role === 'user' ? (JSON.parse(last.text) as Kind[]) : [];
        const toolCalls = kinds.map((kind) => ({
          tool: kind === 'unknown' ? 'nosuch' : this.tool.tool,
          args: { kind },
        }));
        return Promise.resolve({ text: '', toolCalls, usage: { input: 1, output: 1 }, stop: 'end' as const });
      },
    };
  }

  async open(): Promise<void> {
    this.worker = await this.play.worker();
    await this.play.toolWorker([this.tool]);
    this.session = await this.play.start({ session: this.tool.tool });
  }

  /** False where it is refused. `about`: the call in the rules. */
  async give(command: Command, place: number, about: string): Promise<boolean> {
    const { session } = this;
    try {
      switch (command.do) {
        case 'say':
          await session.send(JSON.stringify(command.kinds));
          break;
        case 'complete':
          // It answers at the end; that it was not refused shows before.
          await Promise.race([session.complete(), new Promise((resolve) => setTimeout(resolve, 1_000))]);
          break;
        case 'cancel':
          // It answers at the end, which the test may have to bring about.
          session.cancel().catch((fault: unknown) => void (this.fault = fault));
          break;
        case 'restart':
          await this.worker.stop();
          this.worker = await this.play.worker();
          break;
        case 'release': {
          const gate = about.split(':').slice(2).join(':');
          await expect.poll(() => this.gates.has(gate), { timeout: 15_000 }).toBe(true);
          this.gates.get(gate)?.();
          break;
        }
        case 'approve':
        case 'reject':
          await this.answer(command.do, place);
      }
      return true;
    } catch (fault) {
      if (fault instanceof Refusal) return false;
      throw fault;
    }
  }

  private async answer(decision: 'approve' | 'reject', place: number): Promise<void> {
    const runId = [...(await this.view()).calls.values()][place]?.runId ?? '';
    const plan = rig.plans.getHandle(runId);
    await rig.until(plan, ({ state }) => state === 'parked');
    const about = (await plan.approvals())!;
    await plan.approve(decision === 'approve' ? approvalOf(about, 'ann') : rejectionOf(about, 'ann'));
  }

  close(): Promise<void> {
    return this.worker.stop();
  }

  async view(): Promise<SessionView> {
    const view = new SessionView(this.session.session);
    const log = await new SessionShelf(new Journal(rig.journal)).log(this.session.session);
    for (const { event, at } of log) view.take(event, at);
    return view;
  }
}

test('the workflow, its log and the rules', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(COMMANDS, async (commands) => {
      const [real, rules] = [new Real(), new Rules()];
      await real.open();
      rules.settle();
      const story: string[] = [];
      const same = async (): Promise<void> => {
        const wanted = standingOf(rules.view);
        const seen = async (): Promise<unknown> => {
          const { status, turn } = await real.session.status();
          return { ...standingOf(await real.view()), workflow: [status, turn], fault: real.fault };
        };
        await expect
          .poll(seen, { timeout: 40_000, interval: 100, message: story.join(', ') })
          .toEqual({ ...wanted, workflow: [wanted.status, wanted.turn], fault: null });
      };
      await same();
      const give = async (command: Command): Promise<void> => {
        const places = command.do === 'release' ? rules.places('held') : rules.places('asked');
        const place = 'pick' in command ? places[command.pick % Math.max(1, places.length)] : 0;
        if (place === undefined || (rules.isOver && command.do !== 'say')) return;
        story.push(JSON.stringify(command));
        const about = 'pick' in command ? rules.idAt(place) : '';
        const [answer, wanted] = [await real.give(command, place, about), rules.give(command, place)];
        expect(answer, story.join(', ')).toBe(wanted);
        await same();
      };
      for (const command of commands) await give(command);
      await give({ do: 'cancel' });
      while (rules.places('held').length > 0) await give({ do: 'release', pick: 0 });
      expect(rules.isOver).toBe(true);
      await auditedLog(rig, real.session.session);
      await real.close();
    }),
    { numRuns: RUNS, seed: 20_261_130, endOnFailure: true },
  );
});
