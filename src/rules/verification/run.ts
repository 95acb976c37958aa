/**
 * One evaluation of one plan on one snapshot. Invariant: a run is named by everything that could change its results; asking for
 * the same again is asking for the same run, and there is no second one beside it.
 */
import { Fields, type Dict } from '../fields';
import { checkPlanDigest, checkPlanFromRecord, checkPlanToRecord, type CheckPlan } from './check-plan';
import { executorOf, executorsFromRecord, executorsToRecord, type Executors } from './executors';
import { identityDigest } from './names';
import { runInputDigest, runInputFromRecord, runInputToRecord, type RunInput } from './run-input';
import { snapshotDigest, snapshotFromRecord, snapshotToRecord, type ActionSnapshot } from './snapshot';

export const RUN_DOMAIN = 'countersign.verification_run.v1';

/** `launch`: no checks, one launch; `recheck`: the same questions again, after a proposal was applied. */
export const RUN_KINDS = ['verify', 'recheck', 'launch'] as const;
export type RunKind = (typeof RUN_KINDS)[number];

/** Most launched checks of a run, unless somebody sets another number. */
export const MOST_SPECIALISTS = 5;

export interface VerificationRun {
  readonly kind: RunKind;
  readonly snapshot: ActionSnapshot;
  readonly plan: CheckPlan;
  readonly executors: Executors;
  readonly input: RunInput;
}

export function runDigest({ kind, snapshot, plan, executors, input }: VerificationRun): string {
  return identityDigest(RUN_DOMAIN, {
    snapshot: snapshotDigest(snapshot),
    plan: checkPlanDigest(plan),
    kind,
    executors: executorsToRecord(executors),
    input: runInputDigest(input),
  });
}

/** `run_` and the first 32 hex digits of the digest: its folder in a journal, its workflow, its jobs. */
export function runIdOf(digest: string): string {
  return `run_${digest.slice('sha256:'.length, 'sha256:'.length + 32)}`;
}

export function runToRecord({ kind, snapshot, plan, executors, input }: VerificationRun): Dict {
  return {
    kind,
    snapshot: snapshotToRecord(snapshot),
    plan: checkPlanToRecord(plan),
    executors: executorsToRecord(executors),
    input: runInputToRecord(input),
  };
}

/** Refuses, before anything happens, a run that could not be carried to its end. */
export function runFromRecord(value: unknown, path = 'run', mostSpecialists = MOST_SPECIALISTS): VerificationRun {
  const at = new Fields(value, path);
  const run = {
    kind: at.oneOf('kind', RUN_KINDS),
    snapshot: snapshotFromRecord(at.raw('snapshot'), `${path}.snapshot`),
    plan: checkPlanFromRecord(at.raw('plan'), `${path}.plan`),
    executors: executorsFromRecord(at.raw('executors'), `${path}.executors`),
    input: runInputFromRecord(at.raw('input'), `${path}.input`),
  };
  at.end();
  const { kind, plan, executors, input } = run;
  const served = plan.checks.map(({ binding }) => executorOf(executors, binding));
  const missing = served.indexOf(null);
  if (missing >= 0) at.refuse('names a binding that no executor serves', `plan.checks[${missing}].binding`);
  const bindings = new Set(plan.checks.map(({ binding }) => binding));
  if (bindings.size !== executors.checks.length) at.refuse('must be those that the plan names', 'executors.checks');
  const specialists = served.filter((one) => one?.mode === 'launched').length;
  if (specialists > mostSpecialists) {
    at.refuse(`must have at most ${mostSpecialists} launched checks; make several runs`, 'plan.checks');
  }
  if (executors.coordinator === null && (specialists > 0 || kind === 'launch')) {
    at.refuse('is needed where something is launched', 'executors.coordinator');
  }
  if ((kind === 'launch') !== (plan.checks.length === 0)) {
    at.refuse('must be empty in a launch by itself, and only there', 'plan.checks');
  }
  if ((kind === 'recheck') !== (input.recheck !== null)) {
    at.refuse('belongs to a recheck, and only there', 'input.recheck');
  }
  return run;
}
