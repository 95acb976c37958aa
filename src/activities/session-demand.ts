/**
 * Whom a call of a session has to ask, and what they have said. Invariant: who is asked is what the policy says of the recorded arguments;
 * what people said is read from receipts whose signatures check out.
 */
import type { ApprovalTerms } from '../rules/invocations/approval';
import { approvalRuleOf, judgeTrigger } from '../rules/invocations/policy';
import { TRIGGERS } from '../rules/invocations/vocabulary';
import { ruleFromRecord, type ApprovalRule } from '../rules/receipts/approval-rule';
import { isApproval } from '../rules/receipts/decision';
import { Refusal } from '../rules/refusal';
import type { DemandRecord } from '../rules/sessions/demand-record';
import { settleDemand } from './call-demands';
import type { DemandRequest, TermsRecord, VoteRecord, VotesRequest } from './session-contract';
import type { SessionEngine } from './session-engine';

export async function sessionDemand(
  engine: SessionEngine,
  request: DemandRequest,
): Promise<{ readonly terms: readonly TermsRecord[] | null }> {
  const { demand, run_id: runId, plan_digest: planDigest, for: asked } = request;
  if (demand < 2) throw new Refusal('invalid_record', 'must be 2 or more; the first is the policy’s', 'demand');
  if ('rules' in asked) {
    const rules = asked.rules.map((rule, index) => ruleFromRecord(rule, `rules[${index}]`));
    await settleDemand(engine.journal, demand, { runId, planDigest, rules });
    return { terms: [] };
  }
  const terms = await termsAt(engine, request, asked.trigger);
  if (terms === null) return { terms };
  await settleDemand(engine.journal, demand, { runId, planDigest, rules: terms.map(approvalRuleOf) });
  return { terms: terms.map(termsToRecord) };
}

/** What the policy says of a call that stands still; null where it asks nobody. */
async function termsAt(
  { shelf, contents, policies }: SessionEngine,
  { session_id: session, turn, round, index }: DemandRequest,
  asked: string,
): Promise<readonly ApprovalTerms[] | null> {
  const trigger = TRIGGERS.find((known) => known === asked);
  const files = shelf.files(session);
  const call = (await files.round(turn, round))?.calls[index];
  if (call === undefined || trigger === undefined)
    throw new Refusal('invalid_record', 'names no call and trigger', 'for');
  const tool = (await files.definition()).tools.find((bound) => bound.tool === call.tool);
  if (tool === undefined) return null;
  const verdict = judgeTrigger(policies, {
    tool,
    args: await contents.content(call.argsDigest),
    trigger,
    outcome: trigger,
  });
  return verdict.decision === 'fail' ? null : verdict.terms;
}

export async function sessionVotes(
  { journal }: SessionEngine,
  { run_id: runId }: VotesRequest,
): Promise<{ readonly votes: readonly VoteRecord[] }> {
  const decisions = (await journal.receipts(runId).decisions()).filter(isApproval);
  const said = decisions.map(({ digest, key, claims }) => ({
    ...{ person: key.person, decision: claims.decision, role: claims.role, receipt: digest },
    issued: claims.iat,
  }));
  said.sort((a, b) => a.issued - b.issued || (a.receipt < b.receipt ? -1 : 1));
  return { votes: said.map(({ issued: _issued, ...vote }) => vote) };
}

export function demandOf(
  { runId, planDigest }: Pick<DemandRecord, 'runId' | 'planDigest'>,
  rules: readonly ApprovalRule[],
): DemandRecord {
  return { runId, planDigest, rules };
}

export function termsToRecord({ rule, route, approvals, ...terms }: ApprovalTerms): TermsRecord {
  const { expiryMs: expiry_ms, onTimeout: on_timeout, onRejection: on_rejection } = terms;
  return { rule, route, approvals, expiry_ms, on_timeout, on_rejection };
}
