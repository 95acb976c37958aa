/**
 * `authorizedJob`: the Temporal workflow of one authorized launch. Invariant: it ends only when the job has, and its result is what
 * the journal holds; who tells it something only makes it look.
 */
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import { orderFromRecord } from '../rules/launches/job-order';
import { isDigest } from '../rules/recovery';
import { Refusal, type RefusalCode } from '../rules/refusal';
import { isTerminal } from '../rules/verification/job-states';
import { JobLoop } from './job-loop';
import {
  jobChangedSignal,
  jobStatusQuery,
  submitUpdate,
  type AuthorizedJobInput,
  type JobStatus,
  type Submitted,
} from './job-messages';
import { standBy } from './stand-by';

/** Messages that one job hears; its own worker needs one. */
const MOST_MESSAGES = 64;

export async function authorizedJob(input: AuthorizedJobInput): Promise<JobStatus> {
  try {
    const loop = new JobLoop(orderFromRecord(input.order), input.order, input);
    if (input.stands_by !== undefined) return await standBy(loop, input);
    listen(loop);
    await loop.run();
    if (input.projected_by_run !== true) loop.complete();
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    const status = loop.status();
    setCurrentDetails(`**${status.state}**${status.reason === null ? '' : ` (${status.reason})`}`);
    return status;
  } catch (fault) {
    // Anything else than a Temporal failure would be retried for ever as a failed workflow task.
    if (fault instanceof Refusal) throw ApplicationFailure.nonRetryable(fault.message, fault.code);
    throw fault;
  }
}

function listen(loop: JobLoop): void {
  let messages = 0;
  setHandler(jobStatusQuery, () => loop.status(), { description: 'Where the job stands.' });
  setHandler(
    submitUpdate,
    async ({ submission }) => {
      messages += 1;
      await loop.lookAgain();
      const { job } = loop;
      if (job.submission === submission) return loop.status();
      if (job.submission !== null) throw refused('record_conflict', 'the job has another submission already');
      if (isTerminal(job.state)) throw refused('job_closed', 'the job has ended without a submission');
      throw refused('worker_unknown', 'the journal holds no such submission; only a worker’s credential can store one');
    },
    {
      validator: (given) => check(loop, given, messages),
      description: 'A submission that the journal holds.',
    },
  );
  setHandler(
    jobChangedSignal,
    () => {
      messages += 1;
      if (messages <= MOST_MESSAGES) void loop.lookAgain();
    },
    { description: 'Look at the journal.' },
  );
  CancellationScope.current().cancelRequested.catch(() => loop.cancel());
}

/** Pure: what it refuses leaves no trace. */
function check({ job }: JobLoop, given: unknown, messages: number): void {
  const { job_id: jobId, submission } = (given ?? {}) as Partial<Submitted>;
  if (jobId !== job.jobId) throw refused('worker_unknown', 'the submission is for another job');
  if (!isDigest(submission)) throw refused('invalid_record', 'a submission is named by its sha256 digest');
  if (job.submission !== null && job.submission !== submission) {
    throw refused('record_conflict', 'the job has another submission already');
  }
  if (isTerminal(job.state) && job.submission === null) throw refused('job_closed', 'the job has ended without one');
  if (messages >= MOST_MESSAGES && job.submission === null)
    throw refused('job_closed', 'too many messages for one job');
}

function refused(code: RefusalCode, message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, code);
}
