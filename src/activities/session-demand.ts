/**
 * Whom a call of a session has to ask, and what they have said. Invariant: who is asked, and until when, is what the policy says of the
 * recorded arguments, and stands in the journal before anybody is asked; what people said is read from receipts whose signatures
 * check out.
 */
import type { ApprovalTerms } from '../rules/invocations/approval';
import { approvalToRecord } from '../rules/invocations/approval-record';
import { approvalRuleOf, judgeTrigger } from '../rules/invocations/policy';
import { TRIGGERS } from '../rules/invocations/vocabulary';
import { planFromRecord, type GovernedPlan } from '../rules/plans/plan';
import { ruleFromRecord, type ApprovalRule } from '../rules/receipts/approval-rule';
import { isApproval } from '../rules/receipts/decision';
import { Refusal } from '../rules/refusal';
import type { DemandRecord } from '../rules/sessions/demand-record';
import { lastDemand, settleDemand, type Settled } from './call-demands';
import type {
  CallPlaceRecord,
  DemandRequest,
  DemandResult,
  TermsRecord,
  VotesRequest,
  VotesResult,
} from './session-contract';
import type { SessionEngine } from './session-engine';

export async function sessionDemand(
  engine: SessionEngine,
  request: DemandRequest,
  now: number,
): Promise<Omit<DemandResult, 'journal_id'>> {
  const { demand, for: asked } = request;
  const plan = planFromRecord(request.plan);
  const settled = async (change: Partial<DemandRecord>): Promise<Settled> =>
    settleDemand(engine.journal, demand, await demandOf(engine, plan, change));
  if ('rules' in asked) {
    const rules = asked.rules.map((rule, index) => ruleFromRecord(rule, `rules[${index}]`));
    const { demand: stands, record } = await settled({ rules });
    return { demand: stands, terms: null, expires: record.rules.map(({ expiresAt = null }) => expiresAt) };
  }
  const terms = await termsAt(engine, request.session_id, asked.at, 'doubt' in asked ? asked.doubt : asked.trigger);
  if (terms === null) return { demand: demand - 1, terms, expires: [] };
  if ('doubt' in asked) {
    const { demand: stands } = await settled({ review: terms.map(approvalRuleOf) });
    return { demand: stands, terms: null, expires: [] };
  }
  const { demand: stands, record } = await settled({ rules: rulesUntil(terms, now) });
  return { demand: stands, terms: termsToRecords(terms, record), expires: [] };
}

/** What is demanded from now on: as before, but for the change. */
export async function demandOf(
  { journal }: Pick<SessionEngine, 'journal'>,
  plan: GovernedPlan,
  change: Partial<DemandRecord>,
): Promise<DemandRecord> {
  const { runId, planDigest } = plan;
  return { rules: [], ...(await lastDemand(journal, plan)), runId, planDigest, ...change };
}

/** What the policy says of a call that stands still; null where it asks nobody. */
async function termsAt(
  { shelf, contents, policies }: SessionEngine,
  session: string,
  { turn, round, index }: CallPlaceRecord,
  asked: string,
): Promise<readonly ApprovalTerms[] | null> {
  const trigger = TRIGGERS.find((known) => known === asked);
  const files = shelf.files(session);
  const call = (await files.round(turn, round))?.calls[index];
  if (call === undefined || trigger === undefined)
    throw new Refusal('invalid_record', 'names no call and trigger', 'for');
  const tool = (await files.definition()).tools.find((bound) => bound.tool === call.tool);
  if (tool === undefined) return null;
  const args = await contents.content(call.argsDigest);
  const verdict = judgeTrigger(policies, { tool, args, trigger, outcome: trigger });
  return verdict.decision === 'fail' ? null : verdict.terms;
}

export async function sessionVotes(
  { journal, shelf }: SessionEngine,
  { session_id: session, run_id: runId, call_id: callId, limit }: VotesRequest,
): Promise<Omit<VotesResult, 'journal_id'>> {
  const { approvals } = await shelf.view(session);
  const open = [...approvals.values()].filter((one) => {
    return one.status === 'pending' && one.callId === callId && one.limit === limit;
  });
  const files = journal.receipts(runId);
  const decisions = (await files.decisions()).filter(isApproval);
  const votes = decisions.map(async ({ digest, key, claims }) => {
    const at = (await files.receipt(digest))?.receivedAt ?? 0;
    return { person: key.person, decision: claims.decision, role: claims.role, receipt: digest, at };
  });
  const taken = await Promise.all(votes);
  const sorted = taken.sort((a, b) => a.at - b.at || (a.receipt < b.receipt ? -1 : 1));
  return { votes: sorted, open: open.map(approvalToRecord) };
}

/** Who is asked from now on, each as long as its rule says. */
export function rulesUntil(terms: readonly ApprovalTerms[], now: number): readonly ApprovalRule[] {
  return terms.map((one) => ({
    ...approvalRuleOf(one),
    ...(one.expiryMs === null ? {} : { expiresAt: now + one.expiryMs }),
  }));
}

/** The terms, with the times that stand in the journal. */
export function termsToRecords(terms: readonly ApprovalTerms[], { rules }: DemandRecord): readonly TermsRecord[] {
  return terms.map(({ rule, route, approvals, expiryMs: expiry_ms, onTimeout: on_timeout, onRejection }, index) => ({
    ...{ rule, route, approvals, expiry_ms, on_timeout, on_rejection: onRejection },
    expires_at: rules[index]?.expiresAt ?? null,
  }));
}
