/**
 * What a job came to: a submission, or an end without one. Invariant: there is one such record a job, by put-if-absent, so a
 * worker that submits and a deadline that passes at the same moment cannot both be right.
 */
import { canonicalJson, isDigest } from '../recovery';
import { Fields, parseRecord, type Dict } from '../fields';
import { safeCode } from '../sends/slot';
import { ENDINGS, JOB_REASONS, type JobReason } from '../verification/job-states';
import { isJobId } from '../verification/names';

export const JOB_OUTCOME_SCHEMA_VERSION = 'countersign.job_outcome.v1';

/** Reasons that a job without a submission can end with. */
export type EndReason = Exclude<JobReason, 'job_processing_failed' | 'submission_integrity_failed'>;
export const END_REASONS = JOB_REASONS.filter(
  (reason): reason is EndReason => !ENDINGS[reason].from.includes('submitted'),
);

/** The refusal of a launch of which its launcher says that nothing left. */
export const NOT_LAUNCHED = 'not_launched';

export type JobOutcome =
  | {
      readonly outcome: 'submitted';
      readonly jobId: string;
      /** Digest of the output in the content store. */
      readonly submission: string;
      /** Digest of the credential that it came with. */
      readonly worker: string;
    }
  | {
      readonly outcome: 'ended';
      readonly jobId: string;
      readonly reason: EndReason;
      /** The provider's own word, of `provider_refused`. */
      readonly refusal: string | null;
    };

export function outcomeToRecord(outcome: JobOutcome): Dict {
  const common = { schema_version: JOB_OUTCOME_SCHEMA_VERSION, job_id: outcome.jobId, outcome: outcome.outcome };
  return outcome.outcome === 'submitted'
    ? { ...common, submission: outcome.submission, worker: outcome.worker }
    : { ...common, reason: outcome.reason, refusal: outcome.refusal };
}

export function outcomeFromRecord(value: unknown): JobOutcome {
  const at = new Fields(value, 'job_outcome');
  at.oneOf('schema_version', [JOB_OUTCOME_SCHEMA_VERSION]);
  const jobId = at.text('job_id', '32 lowercase hex digits', isJobId);
  const which = at.oneOf('outcome', ['submitted', 'ended'] as const);
  const outcome: JobOutcome =
    which === 'submitted'
      ? {
          outcome: which,
          jobId,
          submission: at.text('submission', 'a sha256 digest', isDigest),
          worker: at.text('worker', 'a sha256 digest', isDigest),
        }
      : {
          outcome: which,
          jobId,
          reason: at.oneOf('reason', END_REASONS),
          refusal: at.nullable('refusal', (field) => at.text(field, 'a short word', (text) => text === safeCode(text))),
        };
  if (outcome.outcome === 'ended' && (outcome.reason === 'provider_refused') !== (outcome.refusal !== null)) {
    at.refuse('belongs to provider_refused, and only there', 'refusal');
  }
  at.end();
  return outcome;
}

export function outcomeToText(outcome: JobOutcome): string {
  return canonicalJson(outcomeToRecord(outcome));
}

export function outcomeFromBytes(bytes: Uint8Array | string): JobOutcome {
  return parseRecord(bytes, 'job_outcome', outcomeFromRecord);
}
