/**
 * `CountersignPlugin`: what a user adds to a Worker and a Client. Invariant: everything that the user configured stays as it
 * was; what cannot be combined safely is refused with one sentence when the worker is made, never later.
 *
 * A plugin cannot register workflows: re-export them from your own `workflows.ts`, as in
 * `export { governedPlan } from 'countersign/workflow'`.
 */
import { createRequire } from 'node:module';
import path from 'node:path';
import type { ClientPlugin } from '@temporalio/client';
import { noopMetricMeter } from '@temporalio/common';
import type * as WorkerPackage from '@temporalio/worker';
import type {
  BundleOptions,
  BundlerPlugin,
  ReplayWorkerOptions,
  Worker,
  WorkerOptions,
  WorkerPlugin,
} from '@temporalio/worker';
import ms from 'ms';
import { BEGIN_ACTIVITY, DRIVE_ACTIVITY, PUT_CALL_ACTIVITY, STAGE_ACTIVITY } from './activities/contract';
import { createActivities, createEngine, type DriveOptions } from './activities/drive-activity';
import type { ApprovalPolicy, EnginePoint } from './activities/engine';
import { Checks, type CheckDefinition } from './activities/checks';
import { Journal } from './activities/journal';
import { carriersOver, createLaunchActivities, createLaunchEngine } from './activities/launch-activity';
import {
  LAUNCH_ACTIVITY,
  PUT_LAUNCH_ACTIVITY,
  SETTLE_ACTIVITY,
  STAGED_LAUNCH_ACTIVITY,
  STAGE_LAUNCH_ACTIVITY,
} from './activities/launch-contract';
import type { LaunchEngine, LaunchPoint } from './activities/launch-engine';
import { Launchers, type LauncherDefinition } from './activities/launchers';
import { Registry, type Effects } from './activities/registry';
import { createSessionActivities, createSessionEngine, type SessionOptions } from './activities/session-activity';
import { SESSION_ACTIVITIES } from './activities/session-contract';
import { Models, SessionTools } from './activities/session-engine';
import { createToolActivities } from './activities/tool-activities';
import { DESCRIBE_WORKERS_ACTIVITY, EVER_REGISTERED_ACTIVITY, TELL_ACTIVITY } from './activities/tool-contract';
import type { ToolStanding } from './activities/tool-door';
import type { RunEngine } from './activities/run-engine';
import { createRunEngine, createVerificationActivities } from './activities/verification-activity';
import { ADVANCE_ACTIVITY } from './activities/verification-contract';
import { workerDoors } from './activities/worker-door';
import { openTelemetrySpans } from './adapters/spans/open-telemetry';
import { developmentReviewers } from './development-reviewers';
import { initJournal } from './journal-init';
import { StoreError, type Model, type Reviewers, type Store } from './ports';
import { policiesOf, type PolicyRule } from './rules/invocations/policy';
import { warnUnsearchable } from './search-registration';
import { refuseTwoSdkCopies } from './sdk-copies';
import { describedEffect, limitEffect, sessionTool, type ToolDescriptor } from './session-tools';

export interface CountersignPluginOptions {
  /** The journal: chain, slots, witnesses. One journal for all workers of a plan; see `countersign journal init`. */
  readonly store: Store;
  /** Where operation contents and results are kept; separate from the journal, so that they can be erased. */
  readonly contents: Store;
  /**
   * The tools that plans may name on this worker; a record gives each the name that `proxyEffects` calls it by.
   * @default none (enough for a Client or a replay)
   */
  readonly effects?: Effects;
  /** What approvals this worker demands beyond what a plan says. @default none */
  readonly policy?: ApprovalPolicy;
  /**
   * The keys of those who may approve and resolve; see `countersign/reviewers`.
   * @default nobody can; in development, the one local key of `developmentKey`
   */
  readonly reviewers?: Reviewers;
  /** Make the journal when it is not there yet. For development only: a mistyped path would start a new journal. @default false */
  readonly development?: boolean;
  /** Who starts the workers of authorized launches, by provider and model; see `countersign/launchers`. @default nobody */
  readonly launchers?: readonly LauncherDefinition[];
  /** Roles that may authorize a launch. @default any that a reviewer's key holds */
  readonly launchRoles?: readonly string[];
  /** The models of tool sessions; see `countersign/models`. @default none */
  readonly models?: readonly Model[];
  /** The tools that sessions may use, as models and policies know them; tool workers run them. @default none */
  readonly tools?: readonly ToolDescriptor[];
  /** What sessions may ask of tools, and when people are asked first. @default everything that a session's tools can do */
  readonly toolPolicies?: readonly PolicyRule[];
  /** @internal Of a tool worker; see `CountersignToolWorker`. */
  readonly standing?: ToolStanding;
  /** The checks that run in this worker, by the bindings of plans. @default none */
  readonly checks?: readonly CheckDefinition[];
  /** Most launched checks of one verification run. @default 5 */
  readonly mostLaunchedChecks?: number;
  /** @internal The clock of this worker. */
  readonly now?: () => number;
  /** @internal */
  readonly at?: (point: EnginePoint) => void | Promise<void>;
  /** @internal */
  readonly atLaunch?: (point: LaunchPoint) => void | Promise<void>;
  /** @internal */
  readonly atSession?: SessionOptions['atSession'];
  /** @internal */
  readonly atRecord?: RunEngine['atRecord'];
}

const ACTIVITIES = [
  DRIVE_ACTIVITY,
  STAGE_ACTIVITY,
  PUT_CALL_ACTIVITY,
  BEGIN_ACTIVITY,
  LAUNCH_ACTIVITY,
  SETTLE_ACTIVITY,
  STAGE_LAUNCH_ACTIVITY,
  PUT_LAUNCH_ACTIVITY,
  STAGED_LAUNCH_ACTIVITY,
  ADVANCE_ACTIVITY,
  ...SESSION_ACTIVITIES,
  TELL_ACTIVITY,
  DESCRIBE_WORKERS_ACTIVITY,
  EVER_REGISTERED_ACTIVITY,
];

export class CountersignPlugin implements WorkerPlugin, BundlerPlugin, ClientPlugin {
  readonly name = 'CountersignPlugin';
  private readonly registry: Registry;
  private readonly sessions: SessionOptions;
  private readonly launchers: Launchers;
  private readonly checks: Checks;
  private launching: LaunchEngine | null = null;
  private readonly running = new Set<Worker>();

  constructor(private readonly options: CountersignPluginOptions) {
    const tools = (options.tools ?? []).map(sessionTool);
    this.registry = new Registry(options.effects ?? [], [...tools.map(describedEffect), limitEffect]);
    this.sessions = {
      models: new Models(options.models ?? []),
      tools: new SessionTools(tools),
      policies: policiesOf(options.toolPolicies ?? []),
    };
    this.launchers = new Launchers(options.launchers ?? []);
    this.checks = new Checks(options.checks ?? []);
  }

  configureWorker(options: WorkerOptions): WorkerOptions {
    refuseTwoSdkCopies();
    for (const name of ACTIVITIES) {
      if (options.activities === undefined || !(name in options.activities)) continue;
      throw new Error(`An activity named "${name}" is already registered; add CountersignPlugin once only.`);
    }
    const { store, contents, policy, development, standing, now, at, launchRoles, atLaunch } = this.options;
    const reviewers = this.options.reviewers ?? (development === true ? developmentReviewers() : undefined);
    const spans = openTelemetrySpans();
    const shared: DriveOptions = {
      store,
      contents,
      effects: [],
      measured: metricsAreExported(),
      ...(spans === undefined ? {} : { spans }),
      shuttingDown: () => [...this.running].some((worker) => worker.getState() !== 'RUNNING'),
      ...(policy === undefined ? {} : { policy }),
      ...(reviewers === undefined ? {} : { reviewers }),
      ...(standing === undefined ? {} : { standing }),
      ...(now === undefined ? {} : { now }),
      ...(at === undefined ? {} : { at }),
    };
    const engine = createEngine(shared, this.registry);
    this.launching = createLaunchEngine(engine, {
      launchers: this.launchers,
      ...(launchRoles === undefined ? {} : { launchRoles }),
      ...(atLaunch === undefined ? {} : { atLaunch }),
    });
    const { mostLaunchedChecks, atRecord, atSession } = this.options;
    const sessions = createSessionEngine(engine, {
      ...this.sessions,
      ...(atSession === undefined ? {} : { atSession }),
    });
    const running = createRunEngine(this.launching, {
      checks: this.checks,
      ...(mostLaunchedChecks === undefined ? {} : { mostLaunchedChecks }),
      ...(atRecord === undefined ? {} : { atRecord }),
    });
    const ours = {
      ...createActivities(shared, engine),
      ...createLaunchActivities(this.launching),
      ...createVerificationActivities(running),
      ...createSessionActivities(sessions),
      ...createToolActivities(),
    };
    return {
      ...options,
      activities: { ...options.activities, ...ours },
      shutdownGraceTime: Math.max(
        toMs(options.shutdownGraceTime, 0),
        this.registry.longestDeadlineMs,
        this.launchers.longestDeadlineMs,
      ),
      // Cancellation reaches an activity with its heartbeats: they must not be held back for longer than a moment.
      maxHeartbeatThrottleInterval: Math.min(toMs(options.maxHeartbeatThrottleInterval, 1_000), 1_000),
    };
  }

  /** Called for the worker's own bundling and, when the plugin is given to it, by `bundleWorkflowCode`. */
  configureBundler(options: BundleOptions): BundleOptions {
    const rules = path.join(__dirname, 'rules', 'preloaded'); // the bundler knows the extension, here and when published
    return { ...options, preloadModules: [...new Set([...(options.preloadModules ?? []), rules])] };
  }

  configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    refuseTwoSdkCopies();
    return options;
  }

  /** Checks journal, content store and sinks before the first task is taken, so that a bad worker never drives anything. */
  async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    const { store, contents, development } = this.options;
    if (development === true) await named('journal', () => initJournal(store));
    else if (this.registry.sinks.size > 0) await named('journal', () => new Journal(store).id());
    if (this.registry.sinks.size > 0) {
      await named('content store', () => contents.read('reachable'));
      await named('journal', async () => store.probe?.());
      await named('content store', async () => contents.probe?.());
    }
    for (const sink of this.registry.sinks) await sink.probe?.();
    await this.warnUnsearchable(worker);
    const closings = await this.listen(worker);
    this.running.add(worker);
    try {
      await next(worker);
    } finally {
      this.running.delete(worker);
      await Promise.all(closings.map((close) => close()));
    }
  }

  /** Where sessions are carried. */
  private async warnUnsearchable({ client }: Worker): Promise<void> {
    if (client === undefined || this.sessions.models.size === 0) return;
    await warnUnsearchable(client.connection, client.options.namespace, (sentence) => runtime().logger.warn(sentence));
  }

  /** Workers of launches that come back by themselves, also those that another process started. */
  private async listen(worker: Worker): Promise<readonly (() => Promise<void>)[]> {
    const { launching } = this;
    if (launching === null) return [];
    const doors = workerDoors(
      launching,
      carriersOver(() => worker.client),
    );
    const listening = [...this.launchers.all].map((launcher) => launcher.listen?.(doors));
    return (await Promise.all(listening)).filter((close) => close !== undefined);
  }
}

/** Asked when a worker is made, whose package is loaded then: a Client with this plugin does without it. */
function metricsAreExported(): boolean {
  return runtime().metricMeter !== noopMetricMeter;
}

function runtime(): WorkerPackage.Runtime {
  const { Runtime } = createRequire(__filename)('@temporalio/worker') as typeof WorkerPackage;
  return Runtime.instance();
}

/** Of two stores with the same fault, says which one it was. */
async function named(which: string, reach: () => Promise<unknown>): Promise<void> {
  try {
    await reach();
  } catch (fault) {
    if (!(fault instanceof StoreError)) throw fault;
    const reason = `${which}: ${fault.message.replace(`${fault.code}: `, '')}; "countersign journal init" makes both stores`;
    throw new StoreError(fault.code, reason, { cause: fault });
  }
}

function toMs(duration: WorkerOptions['shutdownGraceTime'], otherwise: number): number {
  if (duration === undefined) return otherwise;
  return typeof duration === 'number' ? duration : ms(duration as ms.StringValue);
}
