/**
 * A typed client for governed plans, imported as `countersign/client`. Invariant: a plan's contents are stored before its
 * workflow starts, and starting the same run again follows the one that is there; it never starts a second.
 */
import { WorkflowExecutionAlreadyStartedError, type Client, type WorkflowHandle } from '@temporalio/client';
import { Contents } from './activities/contents';
import { CARRIER_TASK_TIMEOUT_MS } from './activities/contract';
import { Journal, planConflict } from './activities/journal';
import { prepareDraft } from './activities/prepare';
import type { Store } from './ports';
import { draftFromJson } from './rules/plans/draft';
import { carrierWorkflowId } from './rules/plans/identity';
import { planToRecord, type GovernedPlan } from './rules/plans/plan';
import { isPerson, personDigest } from './rules/receipts/names';
import { Refusal } from './rules/refusal';
import type { Question } from './rules/receipts/question';
import { answerTo, askTo, askedOf } from './answer-plan';
import { planOfExecution } from './plan-of-execution';
import { readResumable, type ResumeOptions } from './resume-run';
import type { governedPlan } from './workflows/governed-plan';
import type { GovernedPlanInput, PlanLineage, PlanOutcome, PlanStatus } from './workflows/messages';

export type {
  EffectOutcome,
  GovernedPlanInput,
  PlanAsks,
  PlanLineage,
  PlanOutcome,
  PlanStatus,
} from './workflows/messages';
export type { GovernedPlan } from './rules/plans/plan';
export type { ResumeOptions } from './resume-run';
export type { HeldReceipt, Question } from './rules/receipts/question';

export {
  VerificationClient,
  type Affirmation,
  type AffirmationDraft,
  type ApplyDraft,
  type Capture,
  type CheckDraft,
  type Executor,
  type InProcessExecutor,
  type LaunchedExecutor,
  type Obligation,
  type OwedRecheck,
  type PreparedRun,
  type RecheckDraft,
  type RunDraft,
  type RunJob,
  type RunObligations,
  type RunPhase,
  type RunResult,
  type RunStatus,
  type RunTimes,
  type Sitting,
  type VerificationClientOptions,
  type VerificationHandle,
  type WantedReceipt,
} from './verification-client';

export {
  SessionClient,
  type AttachOptions,
  type SessionClientOptions,
  type SessionEvent,
  type SessionHandle,
  type SessionStart,
} from './session-client';
export type { CallStatus, HeldUp, MessageTaken, ToolSessionStatus } from './workflows/session-messages';

/** Memo of an execution: the digest of the plan that it carries. */
const PLAN_MEMO = 'countersign_plan';

export interface PlanClientOptions {
  readonly client: Client;
  /**
   * The journal that the workers write. Given, a worker with another journal refuses the plan from the start; give it always where
   * journals are those of hosts (`scope: 'host'`). @default that of the first worker that comes back
   */
  readonly store?: Store;
  /** The content store that the workers read. */
  readonly contents: Store;
  /** Task queue of the workers that have the plan's sinks. */
  readonly taskQueue: string;
}

export interface PrepareOptions {
  /**
   * Who asks, as the reviewers' keys name them: their own approval never counts. Only its digest is kept, and nobody vouches for
   * it; where that matters, let the policy demand a signed request. @default nobody is named
   */
  readonly requester?: string;
}

/** A running or finished plan. */
export interface PlanHandle {
  readonly runId: string;
  readonly workflowId: string;
  /** Waits for the end. Throws `WorkflowFailedError`; its cause has type `EffectRejected` when a sink refused. */
  result(): Promise<PlanOutcome>;
  status(): Promise<PlanStatus>;
  lineage(): Promise<PlanLineage>;
  /** The plan that it carries, read from its history; its digest is computed anew. */
  plan(): Promise<GovernedPlan>;
  /** Throws `Refusal` (`stale_head`) when a head is given and the plan stands at another; so does `cancel`. */
  reobserve(expectedHead?: string): Promise<PlanStatus>;
  cancel(expectedHead?: string): Promise<PlanStatus>;
  /** What is asked of people, from whom, and what is there; null while nothing is. */
  approvals(): Promise<Question | null>;
  /**
   * Hands over a signed approval, rejection or request. Answers where it led; throws `Refusal` with the code of the reason, before
   * anything is sent where that can be told here.
   */
  approve(token: string): Promise<PlanStatus>;
  /** Hands over a signed resolution, in the same way. */
  resolve(token: string): Promise<PlanStatus>;
  /** The plain Temporal handle. */
  readonly workflow: WorkflowHandle<typeof governedPlan>;
}

export class PlanClient {
  constructor(private readonly options: PlanClientOptions) {}

  /** Checks a draft and stores its contents. Throws `Refusal` with the faulty field; then nothing is stored. */
  async prepare(draft: unknown, { requester }: PrepareOptions = {}): Promise<GovernedPlan> {
    if (requester !== undefined && !isPerson(requester)) {
      throw new Refusal('invalid_arguments', 'must be a person such as person:example.org/clerk-1', 'requester');
    }
    const asked = requester === undefined ? null : personDigest(requester);
    return prepareDraft(new Contents(this.options.contents), draftFromJson(draft), { origin: null, requester: asked });
  }

  /** Starts the plan, or follows the execution that already carries this run. Throws `Refusal` when that has another plan. */
  async start(plan: GovernedPlan): Promise<PlanHandle> {
    return this.launch(plan, await this.input(plan));
  }

  /**
   * Carries on a run of which only the journal and its contents are left: no history, no other cluster. Throws `Refusal` when
   * the journal does not hold the run, or does not verify. Needs `store`.
   */
  async resume(runId: string, options: ResumeOptions = {}): Promise<PlanHandle> {
    const { store, contents } = this.options;
    if (store === undefined) {
      throw new Refusal('journal_missing', 'a run is resumed from its journal; give the client its "store"', 'store');
    }
    const { plan, input } = await readResumable(store, contents, runId, options);
    return this.launch(plan, input);
  }

  private async launch(plan: GovernedPlan, input: GovernedPlanInput): Promise<PlanHandle> {
    const workflowId = carrierWorkflowId(plan.runId);
    for (;;) {
      try {
        const workflow = await this.options.client.workflow.start<typeof governedPlan>('governedPlan', {
          workflowId,
          taskQueue: this.options.taskQueue,
          args: [input],
          workflowIdConflictPolicy: 'FAIL',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          workflowTaskTimeout: CARRIER_TASK_TIMEOUT_MS,
          memo: { [PLAN_MEMO]: plan.planDigest },
          staticSummary: `${plan.workflowId}: ${plan.effects.length} effects`.slice(0, 200),
        });
        return this.handle(plan.runId, workflow);
      } catch (fault) {
        if (!(fault instanceof WorkflowExecutionAlreadyStartedError)) throw fault;
      }
      const running = await this.running(plan);
      if (running !== null) return running;
    }
  }

  /** The running execution of this plan's run; null when it has ended meanwhile. */
  private async running(plan: GovernedPlan): Promise<PlanHandle | null> {
    const handle = this.getHandle(plan.runId);
    const { status, memo } = await handle.workflow.describe();
    if (status.name !== 'RUNNING') return null;
    const carried = memo?.[PLAN_MEMO];
    if (carried !== undefined && carried !== plan.planDigest) throw planConflict();
    return handle;
  }

  async execute(plan: GovernedPlan): Promise<PlanOutcome> {
    return (await this.start(plan)).result();
  }

  /** Only asks the sinks what they hold. Nothing is written anywhere. */
  async preview(plan: GovernedPlan): Promise<PlanOutcome> {
    return this.options.client.workflow.execute<typeof governedPlan>('governedPlan', {
      workflowId: `${carrierWorkflowId(plan.runId)}/preview`,
      taskQueue: this.options.taskQueue,
      args: [{ ...(await this.input(plan)), preview: true }],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    });
  }

  private async input(plan: GovernedPlan): Promise<GovernedPlanInput> {
    const { store } = this.options;
    const record = planToRecord(plan);
    return store === undefined ? { plan: record } : { plan: record, journal_id: await new Journal(store).id() };
  }

  getHandle(runId: string): PlanHandle {
    return this.handle(runId, this.options.client.workflow.getHandle<typeof governedPlan>(carrierWorkflowId(runId)));
  }

  private handle(runId: string, workflow: WorkflowHandle<typeof governedPlan>): PlanHandle {
    return {
      runId,
      workflowId: workflow.workflowId,
      workflow,
      result: () => workflow.result(),
      status: () => workflow.query<PlanStatus>('status'),
      lineage: () => workflow.query<PlanLineage>('lineage'),
      plan: () => planOfExecution(this.options.client, workflow.workflowId),
      reobserve: (expectedHead) => askTo(workflow, 'reobserve', expectedHead),
      cancel: (expectedHead) => askTo(workflow, 'cancel', expectedHead),
      approvals: () => askedOf(workflow),
      approve: (token) => answerTo(workflow, 'approve', token),
      resolve: (token) => answerTo(workflow, 'resolve', token),
    };
  }
}
