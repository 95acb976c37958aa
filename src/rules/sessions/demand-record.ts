/**
 * What a session demands of whoever drives one of its calls. Invariant: it stands in the journal before the call may be driven, by
 * put-if-absent, so that whichever worker drives it asks for the same; the last one counts, and only its session makes another, as
 * when nobody has answered in time and others are to be asked.
 */
import { Fields, parseRecord } from '../fields';
import { ruleFromRecord, ruleToRecord, type ApprovalRule } from '../receipts/approval-rule';
import { SIDE_EFFECT_CLASSES } from '../invocations/vocabulary';
import type { SideEffectClass } from '../sends/traits';
import { canonicalJson, isDigest, isRunId } from '../recovery';

export const DEMAND_SCHEMA_VERSION = 'countersign.call_demand.v1';

export interface DemandRecord {
  readonly runId: string;
  readonly planDigest: string;
  /** All of them must be met. Empty: silence was consent. */
  readonly rules: readonly ApprovalRule[];
  /** Who may say what became of it, where nobody knows. @default whoever may approve it */
  readonly review?: readonly ApprovalRule[];
  /** Its class for this agent, where that is more careful than the tool's own. */
  readonly sideEffect?: SideEffectClass;
}

/** Which demand of the call it is, from 1: the policy's, and one more each time that other people are asked. */
export function demandName(demand: number): string {
  return `${String(demand).padStart(4, '0')}.json`;
}

export function demandToText({ runId, planDigest, rules, review, sideEffect }: DemandRecord): string {
  return canonicalJson({
    schema_version: DEMAND_SCHEMA_VERSION,
    ...{ run_id: runId, plan_digest: planDigest, rules: rules.map(ruleToRecord) },
    ...(review === undefined ? {} : { review: review.map(ruleToRecord) }),
    ...(sideEffect === undefined ? {} : { side_effect: sideEffect }),
  });
}

/** The same people are asked for the same; until when they may answer is what was said first. */
export function isSameDemand(one: DemandRecord, other: DemandRecord): boolean {
  const open = (demand: DemandRecord): string => demandToText({ ...demand, rules: demand.rules.map(endless) });
  return open(one) === open(other);
}

function endless({ expiresAt: _expiresAt, ...rule }: ApprovalRule): ApprovalRule {
  return rule;
}

export function demandFromBytes(bytes: Uint8Array | string): DemandRecord {
  return parseRecord(bytes, 'call_demand', (value) => {
    const at = new Fields(value, 'call_demand');
    at.oneOf('schema_version', [DEMAND_SCHEMA_VERSION]);
    const rulesAt = (field: string): readonly ApprovalRule[] =>
      at.list(field).map((rule, index) => ruleFromRecord(rule, `call_demand.${field}[${index}]`));
    const record = {
      runId: at.text('run_id', 'a run id', isRunId),
      planDigest: at.text('plan_digest', 'a sha256 digest', isDigest),
      rules: rulesAt('rules'),
      ...(at.has('review') ? { review: rulesAt('review') } : {}),
      ...(at.has('side_effect') ? { sideEffect: at.oneOf('side_effect', SIDE_EFFECT_CLASSES) } : {}),
    };
    at.end();
    return record;
  });
}
