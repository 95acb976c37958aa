/**
 * What the worker of a job may do: fetch its context and submit. Invariant: who it is, is told by its credential alone, held
 * against the digest in the journal; a submission is stored before anybody hears of it, and the first one counts.
 */
import type { SubmitAnswer, WorkerDoor, WorkerDoors } from '../ports';
import type { JobOrder } from '../rules/launches/job-order';
import type { EndReason, JobOutcome } from '../rules/launches/job-outcome';
import { credentialDigest, jobOfCredential } from '../rules/launches/worker-pass';
import { launchUnder } from '../rules/receipts/launch-receipt';
import { Refusal } from '../rules/refusal';
import type { JobFiles } from './job-files';
import type { Carriers, LaunchEngine } from './launch-engine';

interface Admitted {
  readonly order: JobOrder;
  readonly files: JobFiles;
  readonly worker: string;
}

export function workerDoors(engine: LaunchEngine, carriers: Carriers): WorkerDoors {
  return (credential) => doorOf(engine, carriers, credential);
}

function doorOf(engine: LaunchEngine, carriers: Carriers, credential: string): WorkerDoor {
  const end = async ({ order, files }: Admitted, reason: EndReason): Promise<void> => {
    await endJob(files, carriers, order.jobId, reason);
  };
  return {
    async fetchContext() {
      const admitted = await admit(engine, credential);
      const { order, files } = admitted;
      if ((await files.outcome()) !== null) throw closed();
      const receipt = await files.receipt();
      if (receipt === null) throw unknownWorker();
      if (engine.now() >= launchUnder(receipt.token, receipt.key).expiresAt) {
        await end(admitted, 'authorization_expired');
        throw new Refusal('receipt_expired', 'the authorization of this job has expired', 'exp');
      }
      try {
        return await engine.contents.content(order.contextDigest);
      } catch (fault) {
        if (fault instanceof Refusal && fault.code === 'content_missing') {
          await end(admitted, 'context_integrity_failed');
        }
        throw fault;
      }
    },

    async submit(output): Promise<SubmitAnswer> {
      let admitted: Admitted;
      try {
        admitted = await admit(engine, credential);
      } catch (fault) {
        if (fault instanceof Refusal) return { taken: false, code: fault.code };
        throw fault;
      }
      const { order, files, worker } = admitted;
      const { jobId, runId } = order;
      const before = await files.outcome();
      if (before?.outcome === 'ended') return { taken: false, code: closed().code };
      const submission = await engine.contents.putResult(runId, jobId, output);
      const { outcome, first } = await files.settle({ outcome: 'submitted', jobId, submission, worker });
      await engine.atLaunch?.('submitted');
      const answer = answerTo(outcome, submission, first);
      if (answer.taken) await carriers.submitted(jobId, submission);
      return answer;
    },
  };
}

/** Ends a job without a submission, unless it came to something before. Answers whether this did. */
export async function endJob(
  files: JobFiles,
  carriers: Pick<Carriers, 'changed'>,
  jobId: string,
  reason: EndReason,
): Promise<boolean> {
  const { first } = await files.settle({ outcome: 'ended', jobId, reason, refusal: null });
  if (first) await carriers.changed(jobId);
  return first;
}

function answerTo(outcome: JobOutcome, submission: string, first: boolean): SubmitAnswer {
  if (outcome.outcome === 'ended') return { taken: false, code: closed().code };
  if (outcome.submission !== submission) return { taken: false, code: 'record_conflict' };
  return { taken: true, submission, replayed: !first };
}

async function admit(engine: LaunchEngine, credential: string): Promise<Admitted> {
  const job = jobOfCredential(credential);
  if (job === null) throw unknownWorker();
  const files = engine.journal.job(job.runId, job.jobId);
  const worker = credentialDigest(credential);
  const pass = await files.pass();
  const order = pass?.credentialDigest === worker ? await files.order() : null;
  if (order === null) throw unknownWorker();
  return { order, files, worker };
}

function unknownWorker(): Refusal {
  return new Refusal('worker_unknown', 'no launch gave this credential out', 'credential');
}

function closed(): Refusal {
  return new Refusal('job_closed', 'the job is over; a launch is never tried again');
}
