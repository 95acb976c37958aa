/**
 * One simulated world: a plan, its sinks, a store, up to three drivers, and a schedule of what happens when. Invariant: the
 * same schedule gives the same run; when the schedule is over nothing goes wrong any more, and every plan must come to an end.
 */
import { Contents } from '../../../src/activities/contents';
import type { DriveRequest } from '../../../src/activities/contract';
import type { Engine } from '../../../src/activities/engine';
import { Journal } from '../../../src/activities/journal';
import { Registry } from '../../../src/activities/registry';
import type { EffectDefinition, Store } from '../../../src/ports';
import { journalToText } from '../../../src/rules/journal-record';
import { draftFromJson, planFromDraft } from '../../../src/rules/plans/draft';
import { effectRecords, type GovernedPlan, type PlanOrder } from '../../../src/rules/plans/plan';
import { sha256Digest } from '../../../src/rules/recovery';
import { SimulatedDriver } from './driver';
import type { Question } from '../../../src/rules/receipts/question';
import { People, REVIEWERS, RULE, type Reviewer } from './people';
import { Scheduler, type Process, type Step } from './scheduler';
import { SINK_KINDS, SimulatedSink, toolId, type SinkKind } from './sink';
import { MemoryStore, storeOf } from './store';
import { Watch } from './watch';

export const DEEDS = [
  'run',
  'trouble',
  'crash',
  'crash_after',
  'to_slot',
  'to_send',
  'pause',
  'resume',
  'tick',
  'lose_contact',
  'reset',
  'rival',
  'cancel',
  'shut_down',
  'reobserve',
  'approve',
  'reject',
  'reopen',
  'end',
  'revoke',
] as const;
export type Deed = (typeof DEEDS)[number];

/** `who` picks a driver or a process, `arg` how many steps, how long, or which fault. */
export type Action = readonly [deed: Deed, who: number, arg: number];

export interface Schedule {
  readonly order: PlanOrder;
  readonly sinks: readonly SinkKind[];
  readonly actions: readonly Action[];
  /** Two people must approve. @default nobody is asked */
  readonly people?: boolean;
}

/** Ways to break the engine, to show that the invariants notice. */
export interface Variant {
  readonly journal?: (store: Store, process: Process) => Journal;
  readonly engine?: (engine: Engine, process: Process) => Engine;
  readonly definition?: (definition: EffectDefinition) => EffectDefinition;
  readonly bend?: (request: DriveRequest, driver: SimulatedDriver) => DriveRequest;
}

const START = 1_700_000_000_000;
const MOST_DRIVERS = 3;
/** How long approvals may last, in seconds: often not long enough. */
const LIVES_S = [3_600, 60, 3_600, 5, 86_400] as const;
const personOf = (arg: number): Reviewer => REVIEWERS[arg % REVIEWERS.length] as Reviewer;
const MOST_STEPS = 20_000;
const encoder = new TextEncoder();

export class World {
  readonly scheduler = new Scheduler();
  readonly store = new MemoryStore();
  readonly contents = new MemoryStore();
  readonly watch: Watch;
  readonly sinks: Record<SinkKind, SimulatedSink>;
  readonly plan: GovernedPlan;
  readonly drivers: SimulatedDriver[] = [];
  readonly people: People | null;
  private readonly processes: Process[] = [];
  cancelled = false;
  private owners = 0;

  constructor(
    private readonly schedule: Schedule,
    private readonly variant: Variant = {},
  ) {
    this.watch = new Watch(this.scheduler, this.store, schedule.order === 'ordered');
    this.people = schedule.people === true ? new People(this.scheduler, START) : null;
    this.watch.people = this.people;
    const sink = (kind: SinkKind): SimulatedSink => new SimulatedSink(kind, this.scheduler, this.watch);
    this.sinks = Object.fromEntries(SINK_KINDS.map((kind) => [kind, sink(kind)])) as Record<SinkKind, SimulatedSink>;
    const { plan, envelopes } = planFromDraft(
      draftFromJson({
        workflow_id: 'workflow:example.org/model',
        name: 'model',
        order: schedule.order,
        effects: schedule.sinks.map((kind, index) => ({
          id: `effect-${index}`,
          tool_id: toolId(kind),
          kind: 'local_tool',
          operation: { index },
        })),
      }),
      'ab'.repeat(32),
    );
    this.plan = plan;
    for (const [ordinal, effect] of effectRecords(plan).entries())
      this.watch.assign(effect.idempotencyKey, this.sinks[schedule.sinks[ordinal] as SinkKind]);
    for (const { digest, text } of envelopes)
      this.contents.put(`operations/${digest.slice('sha256:'.length)}`, encoder.encode(text));
    this.contents.put(`salts/${plan.runId}`, encoder.encode('ab'.repeat(32)));
    this.store.put('journal.json', encoder.encode(journalToText('0'.repeat(32))));
  }

  async run(): Promise<World> {
    this.addDriver();
    await this.scheduler.settle();
    for (const action of this.schedule.actions) {
      await this.act(action);
      if (this.watch.violations.length > 0) return this;
    }
    await this.comeToAnEnd();
    if (this.watch.violations.length === 0) await this.judgeTheEnd();
    return this;
  }

  engine(process: Process): Engine {
    const { scheduler, variant, people } = this;
    this.processes.push(process);
    people?.begin(process);
    const store = storeOf(scheduler, process, this.store, (...entry) => this.watch.created(...entry));
    const bend = variant.definition ?? ((definition: EffectDefinition) => definition);
    const engine: Engine = {
      journal: variant.journal?.(store, process) ?? new Journal(store),
      contents: new Contents(this.contents),
      registry: new Registry(SINK_KINDS.map((kind) => bend(this.sinks[kind].definition(process)))),
      policy: people === null ? null : () => RULE,
      reviewers: people === null ? null : { load: () => people.load(process) },
      newOwner: () => `own_${(this.owners += 1).toString(16).padStart(32, '0')}`,
      now: () => START + scheduler.time,
      monotonic: () => scheduler.time,
      sleep: (ms) => scheduler.sleep(process, ms),
      withDeadline: (ms, call) => scheduler.withDeadline(process, ms, call),
      at: () => scheduler.step(process, 'point', () => undefined),
    };
    return variant.engine?.(engine, process) ?? engine;
  }

  bend(request: DriveRequest, driver: SimulatedDriver): DriveRequest {
    return this.variant.bend?.(request, driver) ?? request;
  }

  violated(what: string): void {
    this.watch.violated(what);
  }

  private addDriver(): void {
    const name = `driver-${this.drivers.length + 1}`;
    const driver = new SimulatedDriver(name, sha256Digest(name), this);
    this.drivers.push(driver);
    driver.start();
  }

  private async act([deed, who, arg]: Action): Promise<void> {
    const { scheduler, drivers } = this;
    const ready = scheduler.ready();
    const step = ready[who % Math.max(1, ready.length)];
    const live = drivers.filter((driver) => !driver.done);
    const driver = live[who % Math.max(1, live.length)];
    const deeds: Record<Deed, () => unknown> = {
      run: async () => {
        const process = step?.process;
        if (process === undefined) return scheduler.advance(100 * arg);
        for (let left = arg; left >= 0; left -= 1) {
          const next = scheduler.ready(process)[0];
          if (next !== undefined) await scheduler.release(next, null);
        }
      },
      trouble: () => step && scheduler.release(step, arg + who),
      crash: () => driver?.crash(),
      crash_after: () => {
        const process = driver?.process;
        if (process) scheduler.ready(process)[0]?.release(null);
        driver?.crash();
      },
      pause: () => driver?.process && scheduler.pause(driver.process),
      to_slot: () => this.bring(driver, (next) => next.kind === 'create' && next.about.includes('/sends/')),
      to_send: () => this.bring(driver, (next) => next.kind === 'dispatch'),
      resume: () => this.processes.forEach((process) => (process.paused = false)),
      tick: () => scheduler.advance(arg * arg * 60),
      lose_contact: () => driver?.loseContact(),
      reset: () => {
        if (driver === undefined || drivers.length >= MOST_DRIVERS) return;
        driver.abandon();
        this.addDriver();
      },
      rival: () => drivers.length < MOST_DRIVERS && this.addDriver(),
      cancel: () => {
        this.cancelled = this.cancelled || driver !== undefined;
        driver?.cancel();
      },
      shut_down: () => driver?.process && (driver.process.stopping = true),
      reobserve: () => driver?.state === 'parked' && driver.reobserve(),
      approve: () =>
        this.answer(
          driver,
          ({ asksApproval }) => asksApproval,
          (people, asked) => {
            return people.decide(asked, personOf(arg), 'approve', LIVES_S[who % LIVES_S.length] as number);
          },
        ),
      reject: () =>
        this.answer(
          driver,
          ({ asksApproval }) => asksApproval,
          (people, asked) => {
            return people.decide(asked, personOf(arg), 'reject', 3_600);
          },
        ),
      reopen: () =>
        this.answer(
          driver,
          ({ resolutions }) => resolutions.includes('new_lineage'),
          (people, asked) => {
            return people.resolve(asked, personOf(arg), 'new_lineage');
          },
        ),
      end: () =>
        this.answer(
          driver,
          ({ resolutions }) => resolutions.includes('abort'),
          (people, asked) => {
            this.cancelled = true;
            return people.resolve(asked, personOf(arg), 'abort');
          },
        ),
      revoke: () => this.people?.toggle(personOf(arg)),
    };
    await deeds[deed]();
    await scheduler.settle();
  }

  /** A person answers what this driver asks, if it asks such a thing. */
  private answer(
    driver: SimulatedDriver | undefined,
    asks: (question: Question) => boolean,
    sign: (people: People, question: Question) => string,
  ): void {
    const { people } = this;
    if (people === null || driver?.state !== 'parked' || driver.question === null || !asks(driver.question)) return;
    driver.answer(sign(people, driver.question));
  }

  /** Everybody's key counts, and everybody says yes; where there is no question, or nothing to say, somebody looks again. */
  private settleWith(driver: SimulatedDriver): void {
    const { people } = this;
    const { question } = driver;
    if (people === null || question === null) return driver.reobserve();
    if (question.asksApproval) {
      for (const who of REVIEWERS) driver.answer(people.decide(question, who, 'approve', 30 * 86_400));
    } else if (question.resolutions.includes('new_lineage')) {
      driver.answer(people.resolve(question, 'ann', 'new_lineage'));
    } else driver.reobserve();
  }

  /** Lets a driver's process run until it stands before a certain step. */
  private async bring(driver: SimulatedDriver | undefined, isThere: (step: Step) => boolean): Promise<void> {
    for (let left = 60; left > 0 && driver?.process; left -= 1) {
      const ready = this.scheduler.ready(driver.process);
      if (ready[0] === undefined || ready.some(isThere)) return;
      await this.scheduler.release(ready[0], null);
    }
  }

  /** No faults any more: everyone who was stopped goes on, and a person looks at what is parked. */
  private async comeToAnEnd(): Promise<void> {
    const { scheduler } = this;
    const mostLooks = this.people === null ? 2 : 12;
    let looks = 0;
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      for (const process of this.processes) process.paused = false;
      this.people?.restore();
      if (this.watch.violations.length > 0) return;
      const [step] = scheduler.ready();
      if (step !== undefined) await scheduler.release(step, null);
      else if (!(await scheduler.advanceToNext())) {
        const parked = this.drivers.filter((driver) => driver.state === 'parked');
        if (parked.length === 0 || looks === mostLooks) return;
        looks += 1;
        for (const driver of parked) this.settleWith(driver);
        await scheduler.settle();
      }
    }
    this.violated('does not come to an end');
  }

  private async judgeTheEnd(): Promise<void> {
    const { plan, watch } = this;
    for (const driver of this.drivers) {
      if (driver.done) continue;
      if (driver.state !== 'parked') this.violated(`${driver.name} stays ${driver.state}`);
      else if (!this.mayNeedAPerson()) this.violated(`${driver.name} is parked for ${driver.parkedFor} without need`);
    }
    const journal = new Journal(this.store);
    const lineages = [await journal.chain(plan.runId, 1)];
    while ((await journal.receipts(plan.runId).lineage(lineages.length + 1)) !== null) {
      lineages.push(await journal.chain(plan.runId, lineages.length + 1));
    }
    for (const [lineage, chain] of lineages.entries()) {
      for (let index = 1; index < chain.length; index += 1) {
        const [previous, next] = [chain[index - 1], chain[index]] as [(typeof chain)[0], (typeof chain)[0]];
        if ((await journal.justification(plan.runId, previous, next)) === null)
          this.violated(`checkpoint ${index} of lineage ${lineage + 1} is not justified`);
      }
    }
    const chain = lineages.at(-1) ?? [];
    for (const { chain: own, state, name } of this.drivers) {
      for (const [lineage, digests] of own.lineages.entries()) {
        const stored = (lineages[lineage] ?? [])
          .slice(0, digests.length)
          .map(({ checkpointDigest }) => checkpointDigest);
        if (stored.join() !== digests.join()) this.violated(`${name} knows another chain than the journal`);
      }
      const whole = own.lineage === lineages.length && own.digests.length === chain.length;
      if (state === 'closed' && !whole) this.violated(`${name} closed before its chain`);
    }
    const closed = this.drivers.some((driver) => driver.state === 'closed');
    const head = chain.at(-1);
    const mayAbort = this.cancelled || watch.refusals > 0 || this.people?.rejected === true;
    if (closed && head?.phase !== 'completed' && !(mayAbort && head?.phase === 'aborted'))
      this.violated(`ends as ${head?.phase}`);
    if (head?.phase !== 'completed') return;
    for (const effect of head.effects) {
      const sink = this.sinks[this.schedule.sinks[Number(effect.ordinal)] as SinkKind];
      if (!sink.writes.has(effect.idempotencyKey)) this.violated(`a ${sink.kind} effect was lost`);
    }
  }

  /** Only where a sink can neither be asked nor enforces keys, and a send of it is open. */
  private mayNeedAPerson(): boolean {
    return [...this.watch.taken].some(([key, slots]) => {
      const kind = SINK_KINDS.find((one) => this.sinks[one].writes.has(key) || this.holds(one, key)) as SinkKind;
      const unseen = kind === 'blind' || kind === 'hint';
      const refusedAfterUnknown = kind === 'enforcing_unseen' && this.watch.refusals > 0;
      const open = slots.filter((slot) => !this.watch.hasEnd(slot));
      return (unseen || refusedAfterUnknown) && open.length > 0;
    });
  }

  private holds(kind: SinkKind, key: string): boolean {
    return effectRecords(this.plan).some((effect) => effect.idempotencyKey === key && effect.toolId === toolId(kind));
  }
}
