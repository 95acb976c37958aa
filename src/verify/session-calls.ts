/**
 * What the log of a session says of its calls, beside the runs of these calls. Invariant: a call is what its own run says; where the log
 * says otherwise, it is the log that is found wrong. A run that is not here contradicts nothing, and one that is not what it would
 * have to be is read once more before the log is suspected, as its workers may have gone on meanwhile.
 *
 * Sound, because a call's chain and its results are durable before its session says what became of it, and receipts before its votes.
 */
import { toolOfId } from '../rules/invocations/names';
import { recordName, type SessionRecord } from '../rules/invocations/session-record';
import type { SessionEvent } from '../rules/invocations/session-event';
import type { GovernedPlan } from '../rules/plans/plan';
import { isApproval } from '../rules/receipts/decision';
import { decisionOf } from '../rules/receipts/receipt-record';
import type { RecoveryPhase } from '../rules/recovery';
import type { Findings } from './findings';
import type { LineageReport } from './lineage';
import type { Mentions } from './mentions';
import type { RunReceipts } from './receipts';
import type { SlotsByKey } from './slots';
import { joined } from './view';

/** The run of one call. */
export interface CallRun {
  readonly folder: string;
  readonly runId: string;
  /** Of its last checkpoint; null where there is none that could be read. */
  readonly phase: RecoveryPhase | null;
  /** Of what its workers recorded as their result. */
  readonly results: ReadonlySet<string>;
  /** What a stored receipt says; null where there is none. */
  readonly voteOf: (digest: string) => { readonly person: string; readonly decision: string } | null;
}

/** Null for a plan that is no call of a tool. */
export function callRunOf(
  folder: string,
  plan: GovernedPlan | null,
  slots: SlotsByKey,
  lineages: readonly LineageReport[],
  receipts: RunReceipts,
): CallRun | null {
  const [effect] = plan?.effects ?? [];
  if (plan === null || effect === undefined || toolOfId(effect.toolId) === null) return null;
  const ends = [...slots.values()].flat().flatMap(({ end }) => end?.resultDigest ?? []);
  const last = lineages.at(-1);
  return {
    ...{ folder, runId: plan.runId },
    phase: last?.valid === true ? (last.head?.phase ?? null) : null,
    results: new Set(ends),
    voteOf: (digest) => {
      const record = receipts.receipt(digest);
      const decision = record === null ? null : decisionOf(record);
      if (decision === null || !isApproval(decision)) return null;
      return { person: decision.key.person, decision: decision.claims.decision };
    },
  };
}

/** What the log says that a run can contradict. */
export interface Claim {
  readonly path: string;
  readonly runId: string;
  readonly event: Extract<SessionEvent, { type: 'tool.completed' | 'approval.vote' }>;
}

/** The claims of one session, from its records. */
export function claimsOf(folder: string, records: readonly SessionRecord[]): readonly Claim[] {
  const runs = new Map<string, string>();
  const callOf = new Map<string, string>();
  const claims: Claim[] = [];
  for (const { event, sequence } of records) {
    if (event.type === 'tool.requested' && event.runId !== null) runs.set(event.callId, event.runId);
    if (event.type === 'approval.required' && event.approval.callId !== null) {
      callOf.set(event.approval.approvalId, event.approval.callId);
    }
    if (event.type !== 'tool.completed' && event.type !== 'approval.vote') continue;
    const callId = event.type === 'tool.completed' ? event.callId : callOf.get(event.approvalId);
    const runId = runs.get(callId ?? '');
    if (runId !== undefined) claims.push({ path: joined(folder, `events/${recordName(sequence)}`), runId, event });
  }
  return claims;
}

/** `again` reads a run anew. */
export async function checkCalls(
  findings: Findings,
  { claims, calls }: Mentions,
  again: (run: CallRun) => Promise<CallRun | null>,
): Promise<void> {
  for (const { path, runId, event } of claims) {
    const run = calls.get(runId);
    if (run === undefined || faultOf(event, run) === null) continue;
    const now = await again(run);
    const fault = now === null ? null : faultOf(event, now);
    if (fault !== null) findings.add('session_invalid', path, `${fault}: its run says otherwise`);
  }
}

/** The field that the run contradicts. */
function faultOf(event: Claim['event'], { phase, results, voteOf }: CallRun): string | null {
  if (event.type === 'approval.vote') {
    const vote = event.receipt === null ? event : voteOf(event.receipt);
    if (vote === null) return 'receipt';
    return vote.person !== event.person ? 'person' : vote.decision !== event.decision ? 'decision' : null;
  }
  const { status, ground, resultDigest, errorCode } = event;
  const byWord = ground === 'result' || ground === 'late_result';
  if (phase !== null) {
    if (status === 'succeeded' && phase !== 'completed') return 'status';
    // A worker's own word of failure may come before an end of the chain; a conflict is about another plan than the run's.
    if (status === 'failed' && phase === 'completed' && !byWord && errorCode !== 'call:conflict') return 'status';
  }
  const strange = byWord && resultDigest !== null && results.size > 0 && !results.has(resultDigest);
  return strange ? 'result_digest' : null;
}
