/**
 * What happened in a run, as it may leave the house. Invariant: a record holds names, digests and words of closed tables, never what a
 * worker said, was shown or cost to run; each is chained to the one before by its digest.
 */
import { canonicalJson, isDigest, isRunId, sha256Digest } from '../recovery';
import { Fields, parseRecord, type Dict } from '../fields';
import { Refusal } from '../refusal';
import { keyFromRecord, keyToRecord, type ReviewerKey } from '../receipts/jwks';
import { MAX_TOKEN_CHARACTERS } from '../receipts/jws';
import { affirmationFromRecord, affirmationToRecord, type Affirmation } from './affirmation';
import type { Assignment } from './chain';
import { checkFields, checkToRecord } from './check-plan';
import { JOB_REASONS, JOB_STATES, type JobReason, type JobState } from './job-states';
import { JOB_ROLES, digestAt, isJobId, isName, setAt, type JobRole } from './names';
import { relationFromRecord, relationToRecord, resultFromRecord, resultToRecord } from './results';
import type { CheckResult, ResultRelation } from './results';
import { runFromRecord, runToRecord, type VerificationRun } from './run';
import { sittingFromRecord, sittingToRecord, type Sitting } from './sitting';
import { submissionFromRecord, submissionToRecord, type Submission } from './submission';

export const LIFECYCLE_SCHEMA_VERSION = 'countersign.lifecycle.v1';

/** What each type of event holds. */
export interface LifecycleBodies {
  /** `person`: digest of who started it. `capturedAt`: unix milliseconds. */
  readonly run_opened: { readonly run: VerificationRun; readonly person: string; readonly capturedAt: number };
  readonly result_committed: { readonly result: CheckResult };
  readonly results_related: { readonly relation: ResultRelation };
  readonly job_prepared: {
    readonly jobId: string;
    readonly role: JobRole;
    readonly parent: string | null;
    readonly stage: 'initial' | null;
    readonly assignment: Assignment | null;
    readonly contextDigest: string;
  };
  /** The receipt, and the key that verified it. */
  readonly job_authorized: { readonly jobId: string; readonly token: string; readonly key: ReviewerKey };
  readonly job_moved: {
    readonly jobId: string;
    readonly from: JobState;
    readonly to: JobState;
    readonly reason: JobReason | null;
    /** The provider's word, of `provider_refused`. */
    readonly refusal: string | null;
  };
  readonly job_submitted: { readonly from: JobState; readonly submission: Submission };
  readonly job_completed: {
    readonly jobId: string;
    /** Digests of all its results, in ascending order. */
    readonly results: readonly string[];
    readonly next: string | null;
  };
  readonly run_closed: { readonly outcome: 'completed' | 'incomplete' };
  readonly proposals_applied: { readonly sitting: Sitting };
  readonly target_affirmed: { readonly affirmation: Affirmation };
}
export type LifecycleType = keyof LifecycleBodies;
export type LifecycleEvent = {
  readonly [T in LifecycleType]: { readonly type: T } & LifecycleBodies[T];
}[LifecycleType];

export interface LifecycleRecord {
  readonly runId: string;
  /** From 1, without gaps, in each run. */
  readonly sequence: number;
  /** Digest of the record before; null of the first. */
  readonly previous: string | null;
  readonly event: LifecycleEvent;
}

type Event<T extends LifecycleType> = { readonly type: T } & LifecycleBodies[T];
type Form<T extends LifecycleType> = {
  readonly write: (body: Event<T>) => Dict;
  readonly read: (at: Fields, path: string) => LifecycleBodies[T];
};

const FORMS: { readonly [T in LifecycleType]: Form<T> } = {
  run_opened: {
    write: ({ run, person, capturedAt }) => ({ run: runToRecord(run), person, captured_at: capturedAt }),
    // How many specialists a run may have was decided where it ran.
    read: (at, path) => ({
      run: runFromRecord(at.raw('run'), `${path}.run`, Number.MAX_SAFE_INTEGER),
      person: digestAt(at, 'person'),
      capturedAt: at.count('captured_at'),
    }),
  },
  result_committed: {
    write: ({ result }) => ({ result: resultToRecord(result) }),
    read: (at, path) => ({ result: resultFromRecord(at.raw('result'), `${path}.result`) }),
  },
  results_related: {
    write: ({ relation }) => ({ relation: relationToRecord(relation) }),
    read: (at, path) => ({ relation: relationFromRecord(at.raw('relation'), `${path}.relation`) }),
  },
  job_prepared: {
    write: ({ jobId, role, parent, stage, assignment, contextDigest }) => ({
      job_id: jobId,
      role,
      parent,
      stage,
      assignment: assignment === null ? null : assignmentToRecord(assignment),
      context_digest: contextDigest,
    }),
    read: (at, path) => ({
      jobId: jobAt(at, 'job_id'),
      role: at.oneOf('role', JOB_ROLES),
      parent: at.nullable('parent', (field) => jobAt(at, field)),
      stage: at.nullable('stage', (field) => at.oneOf(field, ['initial'] as const)),
      assignment: at.nullable('assignment', (field) => assignmentFromRecord(at.raw(field), `${path}.${field}`)),
      contextDigest: digestAt(at, 'context_digest'),
    }),
  },
  job_authorized: {
    write: ({ jobId, token, key }) => ({ job_id: jobId, token, key: keyToRecord(key) }),
    read: (at, path) => ({
      jobId: jobAt(at, 'job_id'),
      token: at.text('token', 'a receipt', (text) => text.length <= MAX_TOKEN_CHARACTERS),
      key: keyFromRecord(at.raw('key'), `${path}.key`),
    }),
  },
  job_moved: {
    write: ({ jobId, from, to, reason, refusal }) => ({ job_id: jobId, from, to, reason, refusal }),
    read: (at) => ({
      jobId: jobAt(at, 'job_id'),
      from: at.oneOf('from', JOB_STATES),
      to: at.oneOf('to', JOB_STATES),
      reason: at.nullable('reason', (field) => at.oneOf(field, JOB_REASONS)),
      refusal: at.nullable('refusal', (field) => at.text(field, 'a short stable word', isWord)),
    }),
  },
  job_submitted: {
    write: ({ from, submission }) => ({ from, submission: submissionToRecord(submission) }),
    read: (at, path) => ({
      from: at.oneOf('from', JOB_STATES),
      submission: submissionFromRecord(at.raw('submission'), `${path}.submission`),
    }),
  },
  job_completed: {
    write: ({ jobId, results, next }) => ({ job_id: jobId, results, next }),
    read: (at) => ({
      jobId: jobAt(at, 'job_id'),
      results: setAt(at, 'results', 'digests', isDigest),
      next: at.nullable('next', (field) => jobAt(at, field)),
    }),
  },
  run_closed: {
    write: ({ outcome }) => ({ outcome }),
    read: (at) => ({ outcome: at.oneOf('outcome', ['completed', 'incomplete'] as const) }),
  },
  proposals_applied: {
    write: ({ sitting }) => ({ sitting: sittingToRecord(sitting) }),
    read: (at, path) => ({ sitting: sittingFromRecord(at.raw('sitting'), `${path}.sitting`) }),
  },
  target_affirmed: {
    write: ({ affirmation }) => ({ affirmation: affirmationToRecord(affirmation) }),
    read: (at, path) => ({ affirmation: affirmationFromRecord(at.raw('affirmation'), `${path}.affirmation`) }),
  },
};
export const LIFECYCLE_TYPES = Object.keys(FORMS) as readonly LifecycleType[];

/** Of records that are held; each is asked for its digest by whoever chains, writes or judges it. */
const digests = new WeakMap<LifecycleRecord, string>();

export function lifecycleToText(record: LifecycleRecord): string {
  return canonicalJson({ ...unsealed(record), digest: lifecycleDigest(record) });
}

export function lifecycleDigest(record: LifecycleRecord): string {
  const known = digests.get(record);
  if (known !== undefined) return known;
  const digest = sha256Digest(canonicalJson(unsealed(record)));
  digests.set(record, digest);
  return digest;
}

export function lifecycleFromBytes(bytes: Uint8Array | string): LifecycleRecord {
  return parseRecord(bytes, 'record', (value) => {
    const at = new Fields(value, 'record');
    at.oneOf('schema_version', [LIFECYCLE_SCHEMA_VERSION]);
    const type = at.oneOf('type', LIFECYCLE_TYPES);
    const record = {
      runId: at.text('run_id', 'a run id', isRunId),
      sequence: at.count('sequence'),
      previous: at.nullable('previous', (field) => digestAt(at, field)),
      event: eventFrom(type, at.raw('body')),
    };
    const digest = digestAt(at, 'digest');
    at.end();
    if (record.sequence < 1) at.refuse('must be 1 or more', 'sequence');
    if (lifecycleDigest(record) !== digest) {
      throw new Refusal('invalid_record', 'is not of the fields beside it; the record was changed', 'record.digest');
    }
    return record;
  });
}

function unsealed({ runId, sequence, previous, event }: LifecycleRecord): Dict {
  const { write } = FORMS[event.type] as Form<LifecycleType>;
  const body = write(event as Event<LifecycleType>);
  return { schema_version: LIFECYCLE_SCHEMA_VERSION, run_id: runId, sequence, previous, type: event.type, body };
}

function eventFrom(type: LifecycleType, value: unknown): LifecycleEvent {
  const at = new Fields(value, 'record.body');
  const body = FORMS[type].read(at, 'record.body');
  at.end();
  return { type, ...body } as LifecycleEvent;
}

function assignmentToRecord({ sequence, total, ...check }: Assignment): Dict {
  return { ...checkToRecord(check), sequence, total };
}

function assignmentFromRecord(value: unknown, path: string): Assignment {
  const at = new Fields(value, path);
  const assignment = { ...checkFields(at), sequence: at.count('sequence'), total: at.count('total') };
  at.end();
  return assignment;
}

function jobAt(at: Fields, field: string): string {
  return at.text(field, '32 lowercase hex digits', isJobId);
}

function isWord(text: string): boolean {
  return text.length <= 64 && isName(text);
}
