/**
 * A typed client for verification runs, imported from `countersign/client`. Invariant: contents are stored before a run starts; the same
 * run started again is followed, never started beside the first; what it asks of people, only people answer.
 */
import { randomBytes } from 'node:crypto';
import { WithStartWorkflowOperation, type Client, type WorkflowHandle } from '@temporalio/client';
import { Contents } from './activities/contents';
import { Journal } from './activities/journal';
import { readRuns } from './activities/read-runs';
import type { RunBook } from './rules/verification/run-book';
import type { Store } from './ports';
import type { Dict } from './rules/fields';
import { receiptDigest } from './rules/receipts/jws';
import { Refusal } from './rules/refusal';
import { affirmationToRecord, type Affirmation } from './rules/verification/affirmation';
import { obligationFromRecord, type OwedRecheck } from './rules/verification/obligation-record';
import { deriveObligations, type Obligation } from './rules/verification/obligations';
import { runIdOf, runToRecord, type VerificationRun } from './rules/verification/run';
import type { RecheckLineage } from './rules/verification/run-input';
import { receiptsOf } from './rules/verification/run-receipts';
import { runWorkflowId } from './rules/verification/run-workflow';
import { sittingToRecord, type Sitting } from './rules/verification/sitting';
import { isOfEnded, orRefusal } from './update-refusal';
import {
  personOf,
  preparedRun,
  refuseEarly,
  sortedExecutors,
  storeCapture,
  storeChecks,
  storeInput,
  type Capture,
  type PreparedRun,
  type RunDraft,
} from './verification-drafts';
import type { verificationRun } from './workflows/verification-run';
import type { RunObligations, RunStatus, VerificationRunInput, WantedReceipt } from './workflows/run-messages';

export type { Capture, CheckDraft, PreparedRun, RunDraft } from './verification-drafts';
export type { OwedRecheck } from './rules/verification/obligation-record';
export type { RunJob, RunObligations, RunPhase, RunResult, RunStatus, WantedReceipt } from './workflows/run-messages';
export type { Executor, InProcessExecutor, LaunchedExecutor } from './rules/verification/executors';
export type { Obligation } from './rules/verification/obligations';
export type { Affirmation } from './rules/verification/affirmation';
export type { Sitting } from './rules/verification/sitting';

export interface VerificationClientOptions {
  readonly client: Client;
  /** The journal that the workers write. */
  readonly store: Store;
  /** The content store that the workers read. */
  readonly contents: Store;
  /** Task queue of the workers that have the checks and launchers. */
  readonly taskQueue: string;
  /** Most launched checks of one run; workers have a limit of their own. @default 5 */
  readonly mostLaunchedChecks?: number;
}

/** How long a run waits. */
export interface RunTimes {
  /** How long a worker may take, from the moment that it was seen to run. @default 600000 */
  readonly runningDeadlineMs?: number;
  /** How long until the outcome of a launch must be known. @default 120000 */
  readonly launchLeaseMs?: number;
  /** How long a job waits for its receipt. @default 24 hours */
  readonly authorizationMs?: number;
}

export interface RecheckDraft {
  readonly person: string;
  /** Of `obligations()`. */
  readonly intentId: string;
  /** Captured after the sitting; same source, same part. */
  readonly capture: Capture;
  /** As in the run that is checked again. */
  readonly goal: unknown;
  readonly protectedIntent?: unknown;
  /** Digest of the affirmation, where the target cannot be found again by itself. @default none */
  readonly affirmation?: string;
}

export interface AffirmationDraft extends Omit<RecheckDraft, 'affirmation'> {
  /** The new target: a part, with its reference. */
  readonly capture: Capture;
}

export interface ApplyDraft {
  readonly person: string;
  readonly proposals: readonly string[];
  /** `sit_` and 32 hex digits; name it yourself to be able to say the same again. @default a random one */
  readonly sittingId?: string;
  /** Unix milliseconds. @default now */
  readonly committedAt?: number;
}

/** A running or finished run. */
export interface VerificationHandle {
  readonly runId: string;
  readonly workflowId: string;
  status(): Promise<RunStatus>;
  /** Waits until a receipt is wanted, and says which; null once the run is closed. */
  wanted(): Promise<WantedReceipt | null>;
  /** Hands over the signed receipt of the job that is waited for. Throws `Refusal` with the code of the reason. */
  authorize(token: string): Promise<RunStatus>;
  /** Reads journal and reviewers' keys again. */
  refresh(): Promise<RunStatus>;
  /** Nothing more is launched; what was launched is waited for. */
  cancel(): Promise<RunStatus>;
  /** Waits for the end. */
  result(): Promise<RunStatus>;
  /** The plain Temporal handle. */
  readonly workflow: WorkflowHandle<typeof verificationRun>;
}

const LOOK_MS = 100;
const LONGEST_LOOK_MS = 2_000;

export class VerificationClient {
  private readonly contents: Contents;
  private readonly journal: Journal;

  constructor(private readonly options: VerificationClientOptions) {
    this.contents = new Contents(options.contents);
    this.journal = new Journal(options.store);
  }

  /** Checks a draft and stores its contents. Throws `Refusal` with the faulty field; then nothing is stored. */
  async prepare(draft: RunDraft): Promise<PreparedRun> {
    const person = personOf(draft.person);
    const { mostLaunchedChecks } = this.options;
    refuseEarly(draft, mostLaunchedChecks);
    const snapshot = await storeCapture(this.contents, draft.capture);
    const run = {
      kind: 'verify' as const,
      snapshot,
      plan: { checks: await storeChecks(this.contents, draft.checks) },
      executors: { checks: sortedExecutors(draft.executors), coordinator: draft.coordinator ?? null },
      input: await storeInput(this.contents, snapshot, draft),
    };
    return preparedRun(run, person, draft.capture.capturedAt ?? Date.now(), mostLaunchedChecks);
  }

  /**
   * Stores the contents of a recheck: the checks whose results the pending proposals address, by the same executors. For a capture
   * that was rechecked before it is that run again, so that asking once more is asking for the same.
   */
  async prepareRecheck(draft: RecheckDraft): Promise<PreparedRun> {
    const person = personOf(draft.person);
    const { obligation, source, runs } = await this.owed(draft.intentId);
    const asked = [...runs.values()].find((book) => {
      const { snapshot, input } = book.must.run;
      return input.recheck?.intentId === draft.intentId && snapshot.captureId === draft.capture.captureId;
    });
    const { plan, executors, proposals } = asked === undefined ? owedChecks(source, obligation) : askedChecks(asked);
    const contextBoundary = draft.capture.contextBoundary ?? source.must.run.snapshot.contextBoundary;
    const snapshot = await storeCapture(this.contents, { ...draft.capture, contextBoundary });
    const { intentId, sourceRun } = obligation;
    const recheck = { intentId, sourceRun, proposals, affirmation: draft.affirmation ?? null };
    const input = { ...(await storeInput(this.contents, snapshot, draft)), recheck };
    const run: VerificationRun = { kind: 'recheck', snapshot, plan, executors, input };
    return preparedRun(run, person, draft.capture.capturedAt ?? Date.now(), this.options.mostLaunchedChecks);
  }

  /** Starts the run, or follows the one that is there. Throws `Refusal` when it may not be opened. */
  async start(prepared: PreparedRun, times: RunTimes = {}): Promise<VerificationHandle> {
    const { runId, run, person, capturedAt } = prepared;
    const opening = { run: runToRecord(run), person, captured_at: capturedAt };
    const captureId = run.snapshot.captureId;
    await this.ask<RunStatus>(runId, { ...opening, ...timesOf(times) }, 'opened', [], captureId);
    return this.handle(runId);
  }

  /** As `prepareRecheck` and `start`. Asking again for the same gives the run already started, also when nothing is pending any more. */
  async recheck(draft: RecheckDraft, times: RunTimes = {}): Promise<VerificationHandle> {
    return this.start(await this.prepareRecheck(draft), times);
  }

  handle(runId: string): VerificationHandle {
    const workflowId = runWorkflowId(runId);
    const workflow = this.options.client.workflow.getHandle<typeof verificationRun>(workflowId);
    const status = (): Promise<RunStatus> => workflow.query<RunStatus>('run_status');
    const update = (name: string): Promise<RunStatus> => orRefusal(workflow.executeUpdate<RunStatus, []>(name));
    return {
      ...{ runId, workflowId, workflow, status },
      wanted: async () => {
        for (let pauseMs = LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_LOOK_MS)) {
          const { phase, wants } = await status();
          if (wants !== null) return wants;
          if (phase === 'closed') return null;
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
      },
      authorize: (token) =>
        // Sent again, the same receipt is the same Update.
        orRefusal(
          workflow.executeUpdate<RunStatus, [string]>('authorize', { args: [token], updateId: receiptDigest(token) }),
        ),
      refresh: () => update('refresh'),
      cancel: () => update('cancel'),
      result: () => orRefusal(workflow.result()),
    };
  }

  /** Records that a person applied proposals of a run that has ended. Says what has to be checked again. */
  async apply(runId: string, draft: ApplyDraft): Promise<readonly OwedRecheck[]> {
    const sitting: Sitting = {
      sittingId: draft.sittingId ?? `sit_${randomBytes(16).toString('hex')}`,
      person: personOf(draft.person),
      committedAt: draft.committedAt ?? Date.now(),
      proposals: [...new Set(draft.proposals)].sort(),
    };
    const { obligations } = await this.ask<RunObligations>(
      runId,
      {},
      'apply',
      [sittingToRecord(sitting)],
      sitting.sittingId,
    );
    return obligations.map((record) => obligationFromRecord(record));
  }

  /** Records a person's confirmation of an exact new target, and answers its digest. It starts nothing. */
  async affirm(draft: AffirmationDraft): Promise<string> {
    const { obligation } = await this.owed(draft.intentId);
    const snapshot = await storeCapture(this.contents, draft.capture);
    const { goalDigest, protectedIntentDigest } = await storeInput(this.contents, snapshot, draft);
    const affirmation: Affirmation = {
      intentId: obligation.intentId,
      sourceRun: obligation.sourceRun,
      proposals: obligation.pending,
      ...{ goalDigest, protectedIntentDigest, snapshot },
      person: personOf(draft.person),
      capturedAt: draft.capture.capturedAt ?? Date.now(),
    };
    const { captureId } = snapshot;
    return this.ask<string>(runIdOf(obligation.sourceRun), {}, 'affirm', [affirmationToRecord(affirmation)], captureId);
  }

  /** What has to be checked again, read from the journal: of all runs, or of one. */
  async obligations(runId?: string): Promise<readonly Obligation[]> {
    const owed = deriveObligations(receiptsOf(await readRuns(this.journal)));
    return runId === undefined ? owed : owed.filter(({ sourceRun }) => runIdOf(sourceRun) === runId);
  }

  /** What the journal holds of a run; null when it holds none. */
  async book(runId: string): Promise<RunBook | null> {
    const book = await this.journal.run(runId).book(await this.journal.id());
    return book.records.length === 0 ? null : book;
  }

  private async owed(intentId: string): Promise<Owed> {
    const runs = await readRuns(this.journal);
    const obligation = deriveObligations(receiptsOf(runs)).find((one) => one.intentId === intentId);
    const source = obligation === undefined ? undefined : runs.get(runIdOf(obligation.sourceRun));
    if (obligation !== undefined && source !== undefined) return { obligation, source, runs };
    throw new Refusal('recheck_refused', 'is no intent that follows from receipts', 'intent_id');
  }

  /** One Update, which starts the workflow of the run where it does not run. */
  private async ask<T>(
    runId: string,
    input: Omit<VerificationRunInput, 'run_id'>,
    name: string,
    args: readonly Dict[],
    about: string,
  ): Promise<T> {
    const journalId = await this.journal.id();
    const asked = { ...input, run_id: runId, journal_id: journalId };
    for (;;) {
      try {
        return await orRefusal(this.updateWithStart<T>(asked, name, args, about));
      } catch (fault) {
        // It came upon an execution that was just about to end; the next one hears it.
        if (!isOfEnded(fault)) throw fault;
      }
    }
  }

  private updateWithStart<T>(
    input: VerificationRunInput,
    name: string,
    args: readonly Dict[],
    about: string,
  ): Promise<T> {
    const { client, taskQueue } = this.options;
    const { run_id: runId } = input;
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof verificationRun>('verificationRun', {
      workflowId: runWorkflowId(runId),
      taskQueue,
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      memo: { countersign_run: runId },
      staticSummary: `verification run ${runId}`,
    });
    // Of its own for each call: an execution that has ended would answer for ever what it answered then.
    const updateId = `${name}-${about}-${randomBytes(8).toString('hex')}`;
    const update = { args: [...args], updateId, startWorkflowOperation };
    return client.workflow.executeUpdateWithStart<typeof verificationRun, T, Dict[]>(name, update);
  }
}

interface Owed {
  readonly obligation: Obligation;
  readonly source: RunBook;
  readonly runs: ReadonlyMap<string, RunBook>;
}

type OwedChecks = Pick<VerificationRun, 'plan' | 'executors'> & Pick<RecheckLineage, 'proposals'>;

function owedChecks(source: RunBook, { pending, proposals }: Obligation): OwedChecks {
  const { executors } = source.must.run;
  const wanted = pending.length === 0 ? proposals : pending;
  const made = source.proposals();
  const addressed = new Set(wanted.flatMap((id) => made.get(id) ?? []));
  const checks = source.results.flatMap(({ digest, result }) => (addressed.has(digest) ? [result.check] : []));
  const bindings = new Set(checks.map(({ binding }) => binding));
  const serving = executors.checks.filter(({ binding }) => bindings.has(binding));
  return { plan: { checks }, executors: { ...executors, checks: serving }, proposals: wanted };
}

function askedChecks(book: RunBook): OwedChecks {
  const { plan, executors, input } = book.must.run;
  return { plan, executors, proposals: input.recheck?.proposals ?? [] };
}

function timesOf({ runningDeadlineMs, launchLeaseMs, authorizationMs }: RunTimes): Partial<VerificationRunInput> {
  return {
    ...(runningDeadlineMs === undefined ? {} : { running_deadline_ms: runningDeadlineMs }),
    ...(launchLeaseMs === undefined ? {} : { launch_lease_ms: launchLeaseMs }),
    ...(authorizationMs === undefined ? {} : { authorization_ms: authorizationMs }),
  };
}
