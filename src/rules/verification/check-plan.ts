/**
 * What a run checks: criteria, each with the check that decides it. Invariant: the order is part of the plan, and nothing is
 * checked twice; two plans with one digest check the same, with the same configuration, in the same order.
 */
import { Fields, type Dict } from '../fields';
import { Refusal } from '../refusal';
import { digestAt, identityDigest, nameAt } from './names';

export const CHECK_PLAN_DOMAIN = 'countersign.check_plan.v1';
const MOST_CHECKS = 256;

export interface Check {
  readonly criterion: string;
  readonly check: string;
  /** Names the executor that runs it. */
  readonly binding: string;
  readonly configurationSha256: string;
}

export interface CheckPlan {
  /** Empty in a run that is a launch by itself. */
  readonly checks: readonly Check[];
}

export function checkPlanDigest(plan: CheckPlan): string {
  return identityDigest(CHECK_PLAN_DOMAIN, checkPlanToRecord(plan));
}

export function checkPlanToRecord({ checks }: CheckPlan): Dict {
  return { checks: checks.map(checkToRecord) };
}

export function checkPlanFromRecord(value: unknown, path = 'plan'): CheckPlan {
  const at = new Fields(value, path);
  const checks = at.list('checks').map((one, index) => checkFromRecord(one, `${path}.checks[${index}]`));
  at.end();
  if (checks.length > MOST_CHECKS) at.refuse(`must list at most ${MOST_CHECKS}; make several runs`, 'checks');
  if (new Set(checks.map(({ criterion, check }) => `${criterion} ${check}`)).size !== checks.length) {
    at.refuse('must name each check of a criterion once', 'checks');
  }
  return { checks };
}

export function checkToRecord({ criterion, check, binding, configurationSha256 }: Check): Dict {
  return { criterion, check, binding, configuration_sha256: configurationSha256 };
}

export function checkFromRecord(value: unknown, path: string): Check {
  const at = new Fields(value, path);
  const check = checkFields(at);
  at.end();
  return check;
}

/** The fields of a check, in a record that has others as well. */
export function checkFields(at: Fields): Check {
  return {
    criterion: nameAt(at, 'criterion'),
    check: nameAt(at, 'check'),
    binding: nameAt(at, 'binding'),
    configurationSha256: digestAt(at, 'configuration_sha256'),
  };
}

export function sameCheck(one: Check, other: Check): boolean {
  return (
    one.criterion === other.criterion &&
    one.check === other.check &&
    one.binding === other.binding &&
    one.configurationSha256 === other.configurationSha256
  );
}

/** Throws `invalid_arguments`: the caller asks for a check that its own plan does not have. */
export function checkAt(plan: CheckPlan, index: number): Check {
  const check = plan.checks[index];
  if (check === undefined) throw new Refusal('invalid_arguments', 'is not the place of a check of this plan', 'check');
  return check;
}
