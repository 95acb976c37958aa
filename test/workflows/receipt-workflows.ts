/** The rules of receipts, run inside the workflow sandbox. */
import { admitDecision, type DecisionContext } from '../../src/rules/receipts/admit';
import { requirementFromRecord } from '../../src/rules/receipts/approval-rule';
import { decisionUnder, type Decision } from '../../src/rules/receipts/decision';
import { findKey, keysFromRecord } from '../../src/rules/receipts/jwks';
import { judgeApprovals, type Judgement } from '../../src/rules/receipts/judge';

export { governedPlan } from '../../src/workflow';

/** What crosses into a history: keys by digest of their person, the plan by its digests. */
export interface ReceiptInput {
  readonly keys: unknown;
  readonly requirement: unknown;
  readonly context: Omit<DecisionContext, 'keys' | 'requesters' | 'rules' | 'seen' | 'requester'>;
  readonly tokens: readonly string[];
}

export interface ReceiptVerdict {
  /** Per token. */
  readonly codes: readonly string[];
  readonly judgement: Judgement;
}

export function judgedReceipts({ keys: record, requirement, context, tokens }: ReceiptInput): ReceiptVerdict {
  const keys = keysFromRecord(record);
  const { rules, requester } = requirementFromRecord(requirement);
  const door: DecisionContext = { ...context, keys, rules, requester, requesters: new Set(), seen: new Map() };
  const decisions: Decision[] = [];
  const codes = tokens.map((token) => {
    const answer = admitDecision(token, door);
    if (!answer.ok) return answer.refusal.code;
    const key = findKey(keys, answer.decision.key.kid);
    if (key !== null) decisions.push(decisionUnder(token, key));
    return 'admitted';
  });
  return { codes, judgement: judgeApprovals({ rules, requester }, decisions, keys, context.now) };
}

export async function judgeReceipts(input: ReceiptInput): Promise<ReceiptVerdict> {
  return judgedReceipts(input);
}
