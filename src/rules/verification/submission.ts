/**
 * What a worker brought, before anything follows from it. Invariant: its digest covers the job, the context that the worker was
 * given and the output itself, so neither can be exchanged later without being seen.
 */
import { sha256Digest } from '../recovery';
import { Fields, type Dict } from '../fields';
import { contentJson } from '../plans/content-json';
import { Refusal } from '../refusal';
import { digestAt, identityDigest, isJobId, isProposalId, sortedSet } from './names';
import { CHECK_OUTCOMES, type CheckOutcome } from './results';

export const SUBMISSION_DOMAIN = 'countersign.submission.v1';

export interface Submission {
  readonly jobId: string;
  readonly contextDigest: string;
  readonly outputDigest: string;
}

export function submissionDigest(submission: Submission): string {
  return identityDigest(SUBMISSION_DOMAIN, submissionToRecord(submission));
}

export function submissionToRecord({ jobId, contextDigest, outputDigest }: Submission): Dict {
  return { job_id: jobId, context_digest: contextDigest, output_digest: outputDigest };
}

export function submissionFromRecord(value: unknown, path = 'submission'): Submission {
  const at = new Fields(value, path);
  const submission = {
    jobId: at.text('job_id', '32 lowercase hex digits', isJobId),
    contextDigest: digestAt(at, 'context_digest'),
    outputDigest: digestAt(at, 'output_digest'),
  };
  at.end();
  return submission;
}

/** The one text of an output, and its digest. Throws `invalid_arguments` of what JSON cannot carry unchanged. */
export function normalizedOutput(output: unknown): { readonly text: string; readonly digest: string } {
  try {
    const text = contentJson(output, 'output');
    return { text, digest: sha256Digest(text) };
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw new Refusal('invalid_arguments', 'has a text that has no bytes', 'output');
    throw new Refusal('invalid_arguments', fault.reason, fault.field);
  }
}

/** A correction that a coordinator proposes, and the checks whose results it addresses. */
export interface Proposal {
  readonly proposalId: string;
  /** Places of checks in the plan, from 0. */
  readonly addresses: readonly number[];
}

export interface SpecialistOutput {
  readonly outcome: CheckOutcome;
}
export interface CoordinatorOutput {
  /** In ascending order of their ids. */
  readonly proposals: readonly Proposal[];
}

/**
 * The typed part of an output. `content` beside it is the worker's own, whatever it is: it stays with the contents, and nothing
 * of it enters a record.
 */
export function specialistOutput(output: unknown): SpecialistOutput {
  const at = new Fields(output, 'output', 'invalid_arguments');
  const outcome = at.oneOf('outcome', CHECK_OUTCOMES);
  at.optional<unknown>('content', (field) => at.raw(field), null);
  at.end();
  return { outcome };
}

/** `checks`: how many the plan has. */
export function coordinatorOutput(output: unknown, checks: number): CoordinatorOutput {
  const at = new Fields(output, 'output', 'invalid_arguments');
  const proposals = at.list('proposals').map((value, index) => {
    const one = new Fields(value, `output.proposals[${index}]`, 'invalid_arguments');
    const proposalId = one.text('proposal_id', '"prop_" and 32 lowercase hex digits', isProposalId);
    const addresses = one.list('addresses', 1).map((place) => {
      const known = typeof place === 'number' && Number.isInteger(place) && place >= 0 && place < checks;
      return known ? place : one.refuse('must list places of checks of the plan', 'addresses');
    });
    one.end();
    return { proposalId, addresses: [...new Set(addresses)].sort((a, b) => a - b) };
  });
  at.optional<unknown>('content', (field) => at.raw(field), null);
  at.end();
  const ids = sortedSet(proposals.map(({ proposalId }) => proposalId));
  if (ids.length !== proposals.length) at.refuse('must name each proposal once', 'proposals');
  return { proposals: ids.map((id) => proposals.find(({ proposalId }) => proposalId === id) as Proposal) };
}
