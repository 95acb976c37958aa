/**
 * Brings a run as far as it goes without a launch. Invariant: it believes journal, receipts and contents, and of its caller only which
 * workflow it is; each record follows from those before it, so any number of executions at once write the same.
 */
import { isRunId } from '../rules/recovery';
import { keysToRecord } from '../rules/receipts/jwks';
import { Refusal } from '../rules/refusal';
import type { LifecycleEvent } from '../rules/verification/lifecycle-record';
import { lifecycleDigest, lifecycleToText } from '../rules/verification/lifecycle-record';
import { obligationToRecord } from '../rules/verification/obligation-record';
import type { RunBook } from '../rules/verification/run-book';
import { runIdOf } from '../rules/verification/run';
import { runWorkflowId } from '../rules/verification/run-workflow';
import { openRun, owedContext } from './open-run';
import { eventOfAct } from './run-acts';
import type { RunCaller, RunEngine } from './run-engine';
import { RunEvents } from './run-events';
import type { AdvanceRequest, AdvanceResult } from './verification-contract';

/** Records of one answer, in characters: well below what one payload may hold. */
const MOST_CHARACTERS = 512 * 1024;
/** Somebody else may have written in between; each time that happens, the run has moved on. */
const MOST_READINGS = 1_000;

export async function advance(engine: RunEngine, caller: RunCaller, request: AdvanceRequest): Promise<AdvanceResult> {
  const { run_id: runId } = request;
  refuseStranger(runId, caller);
  const journalId = await engine.journal.id();
  if (request.journal_id !== null && request.journal_id !== journalId) {
    throw new Refusal('wrong_journal', 'this worker writes another journal than the one this history belongs to');
  }
  const advancing = new Advancing(engine, caller, request, journalId);
  return advancing.run();
}

/** Anyone in the namespace can call an activity; only the run's own workflow may write its records. */
function refuseStranger(runId: string, { workflowId }: RunCaller): void {
  if (!isRunId(runId)) throw new Refusal('invalid_arguments', 'must be a run id', 'run_id');
  if (workflowId === runWorkflowId(runId)) return;
  throw new Refusal('not_the_plans_workflow', `only the workflow ${runWorkflowId(runId)} may advance this run`);
}

class Advancing {
  private readonly files: ReturnType<RunEngine['journal']['run']>;
  private refused: AdvanceResult['refused'] = null;
  private acted = false;
  private replayed = false;

  constructor(
    private readonly engine: RunEngine,
    private readonly caller: RunCaller,
    private readonly request: AdvanceRequest,
    private readonly journalId: string,
  ) {
    this.files = engine.journal.run(request.run_id);
  }

  async run(): Promise<AdvanceResult> {
    for (let reading = 0; reading < MOST_READINGS; reading += 1) {
      const book = await this.files.book(this.journalId);
      this.refuseOther(book);
      if (reading === 0) this.replayed = book.outcome !== null;
      if (await this.through(book)) return this.answer(book);
    }
    throw new Error('the records of this run do not come to rest');
  }

  /** False: somebody else wrote in between, and the book is of no use. */
  private async through(book: RunBook): Promise<boolean> {
    if (book.opened === null && !(await this.append(book, await openRun(this.engine, this.caller, this.request)))) {
      return false;
    }
    const events = new RunEvents(this.engine, await this.sourceOf(book));
    for (;;) {
      const event = (await this.act(book)) ?? (this.caller.stopping() ? null : await events.next(book));
      if (event === null) return true;
      if (!(await this.append(book, event))) return false;
    }
  }

  private async append(book: RunBook, event: LifecycleEvent): Promise<boolean> {
    if (!(await this.files.append(book, event))) return false;
    await this.engine.atRecord?.(event);
    return true;
  }

  private async act(book: RunBook): Promise<LifecycleEvent | null> {
    if (this.acted) return null;
    try {
      const event = await eventOfAct(this.engine, this.caller, book, this.request.act);
      if (event === null) this.acted = true;
      return event;
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault;
      this.acted = true;
      this.refused = { code: fault.code, message: fault.message };
      return null;
    }
  }

  private async sourceOf(book: RunBook): Promise<RunBook | null> {
    const { recheck } = book.must.run.input;
    if (recheck === null || book.outcome !== null) return null;
    return this.engine.journal.run(runIdOf(recheck.sourceRun)).book(this.journalId);
  }

  /** The workflow knows records that must still be there. */
  private refuseOther(book: RunBook): void {
    const { known } = this.request;
    if (known === null) return;
    const record = book.records[known.sequence - 1];
    if (record !== undefined && lifecycleDigest(record) === known.digest) return;
    throw new Refusal('journal_behind', 'the journal does not hold the records that this workflow knows');
  }

  private async answer(book: RunBook): Promise<AdvanceResult> {
    const records: string[] = [];
    let characters = 0;
    const behind = book.records.slice(this.request.known?.sequence ?? 0);
    for (const record of behind) {
      const text = lifecycleToText(record);
      characters += text.length;
      if (records.length > 0 && characters > MOST_CHARACTERS) break;
      records.push(text);
    }
    const cut = records.length < behind.length;
    const step = book.next();
    const waits = step?.does === 'hand_off' && !book.receipts.has(step.job.jobId);
    const { launchRoles, reviewers } = this.engine;
    return {
      journal_id: this.journalId,
      records,
      more: cut || (this.caller.stopping() && step !== null && step.does !== 'hand_off' && step.does !== 'wait'),
      replayed: this.replayed,
      keys: waits && reviewers !== null ? keysToRecord(await reviewers.load()) : null,
      roles: launchRoles,
      refused: this.refused,
      obligations: book.outcome === null || cut ? null : await this.obligations(book),
    };
  }

  private async obligations(book: RunBook): Promise<NonNullable<AdvanceResult['obligations']>> {
    if (book.sittings.length === 0) return [];
    const { obligations } = await owedContext(this.engine, this.caller, book.must.digest);
    return obligations.map(obligationToRecord);
  }
}
