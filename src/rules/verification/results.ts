/**
 * What checks came to, and how results hang together. Invariant: a result names its run, its check and, when a worker brought it, the
 * job and the submission; a relation leads from a result to something that is older.
 */
import { isDigest, isRunId } from '../recovery';
import { Fields, type Dict } from '../fields';
import { checkFields, checkToRecord, type Check } from './check-plan';
import { digestAt, identityDigest, isJobId, isProposalId } from './names';

export const RESULT_DOMAIN = 'countersign.check_result.v1';
export const RELATION_DOMAIN = 'countersign.result_relation.v1';

export const CHECK_OUTCOMES = ['conforms', 'departs', 'not_applicable', 'inconclusive'] as const;
export type CheckOutcome = (typeof CHECK_OUTCOMES)[number];

export interface CheckResult {
  readonly runId: string;
  readonly check: Check;
  readonly outcome: CheckOutcome;
  /** Null of a check that ran in the process. */
  readonly jobId: string | null;
  /** Digest of the submission; null exactly where there is no job. */
  readonly submission: string | null;
}

export function resultDigest(result: CheckResult): string {
  return identityDigest(RESULT_DOMAIN, resultToRecord(result));
}

export function resultToRecord({ runId, check, outcome, jobId, submission }: CheckResult): Dict {
  return { run_id: runId, ...checkToRecord(check), outcome, job_id: jobId, submission };
}

export function resultFromRecord(value: unknown, path = 'result'): CheckResult {
  const at = new Fields(value, path);
  const result = {
    runId: at.text('run_id', 'a run id', isRunId),
    check: checkFields(at),
    outcome: at.oneOf('outcome', CHECK_OUTCOMES),
    jobId: at.nullable('job_id', (field) => at.text(field, '32 lowercase hex digits', isJobId)),
    submission: at.nullable('submission', (field) => digestAt(at, field)),
  };
  at.end();
  if ((result.jobId === null) !== (result.submission === null)) {
    at.refuse('belongs to the result of a job, and only there', 'submission');
  }
  return result;
}

export const RELATION_KINDS = ['addresses', 'rechecks', 'supersedes', 'derived_from'] as const;
export type RelationKind = (typeof RELATION_KINDS)[number];

type Target = 'result' | 'proposal';
/** What each kind may lead to. */
export const RELATES_TO: Record<RelationKind, readonly Target[]> = {
  addresses: ['proposal'],
  rechecks: ['proposal', 'result'],
  supersedes: ['result'],
  derived_from: ['result'],
};

export interface ResultRelation {
  readonly kind: RelationKind;
  /** Digest of a result. */
  readonly from: string;
  /** Digest of an older result, or the id of a proposal. */
  readonly to: string;
}

export function relationDigest(relation: ResultRelation): string {
  return identityDigest(RELATION_DOMAIN, relationToRecord(relation));
}

export function relationToRecord({ kind, from, to }: ResultRelation): Dict {
  return { kind, from, to };
}

export function relationFromRecord(value: unknown, path = 'relation'): ResultRelation {
  const at = new Fields(value, path);
  const kind = at.oneOf('kind', RELATION_KINDS);
  const relation = { kind, from: digestAt(at, 'from'), to: at.text('to', toRule(kind), (to) => leadsTo(kind, to)) };
  at.end();
  if (relation.from === relation.to) at.refuse('must be another result', 'to');
  return relation;
}

function leadsTo(kind: RelationKind, to: string): boolean {
  const target: Target | null = isDigest(to) ? 'result' : isProposalId(to) ? 'proposal' : null;
  return target !== null && RELATES_TO[kind].includes(target);
}

function toRule(kind: RelationKind): string {
  return `the name of a ${RELATES_TO[kind].join(' or a ')}`;
}
