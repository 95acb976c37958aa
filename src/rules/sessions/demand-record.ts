/**
 * The approval that a session's policy demands for one call. Invariant: it stands in the journal before the call may be driven, by
 * put-if-absent, so that whichever worker drives it asks for the same; the last one counts, and only its session makes another, as
 * when nobody has answered in time and others are to be asked.
 */
import { Fields, parseRecord } from '../fields';
import { ruleFromRecord, ruleToRecord, type ApprovalRule } from '../receipts/approval-rule';
import { canonicalJson, isDigest, isRunId } from '../recovery';

export const DEMAND_SCHEMA_VERSION = 'countersign.call_demand.v1';

export interface DemandRecord {
  readonly runId: string;
  readonly planDigest: string;
  /** All of them must be met. Empty: silence was consent. */
  readonly rules: readonly ApprovalRule[];
}

/** Which demand of the call it is, from 1: the policy's, and one more each time that other people are asked. */
export function demandName(demand: number): string {
  return `${String(demand).padStart(4, '0')}.json`;
}

export function demandToText({ runId, planDigest, rules }: DemandRecord): string {
  const fields = { run_id: runId, plan_digest: planDigest, rules: rules.map(ruleToRecord) };
  return canonicalJson({ schema_version: DEMAND_SCHEMA_VERSION, ...fields });
}

export function demandFromBytes(bytes: Uint8Array | string): DemandRecord {
  return parseRecord(bytes, 'call_demand', (value) => {
    const at = new Fields(value, 'call_demand');
    at.oneOf('schema_version', [DEMAND_SCHEMA_VERSION]);
    const record = {
      runId: at.text('run_id', 'a run id', isRunId),
      planDigest: at.text('plan_digest', 'a sha256 digest', isDigest),
      rules: at.list('rules').map((rule, index) => ruleFromRecord(rule, `call_demand.rules[${index}]`)),
    };
    at.end();
    return record;
  });
}
