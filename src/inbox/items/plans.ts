/**
 * The plans of a namespace that wait for a person, calls of sessions among them: approvals, and reviews of what could not be proved.
 * Invariant: it reads the list of executions and their memos only, so no worker is needed, and a plan that nobody carries on is listed
 * all the same.
 */
import type { ParkReason } from '../../activities/contract';
import { isParkReason } from '../../cli/follow';
import type { Service } from '../../cli/service';
import { carriedPlan } from '../../plan-of-execution';
import { callOfPlan } from '../../rules/invocations/call-of-plan';
import { sessionOfWorkflow } from '../../rules/invocations/names';
import { executions, memoOf, textOf, type Execution } from './executions';
import type { Item, ItemKind, ItemSource, Listed } from './item';

/** What kind of item a reason makes, and how bad it is to leave it. Something may have happened twice, or not at all: that is worst. */
const REASONS: Record<ParkReason, { readonly kind: ItemKind; readonly risk: number }> = {
  effect_mismatch: { kind: 'review', risk: 90 },
  ambiguous_effect: { kind: 'review', risk: 80 },
  chain_divergence: { kind: 'review', risk: 70 },
  journal_invalid: { kind: 'review', risk: 70 },
  journal_behind: { kind: 'review', risk: 70 },
  approval_revoked: { kind: 'review', risk: 60 },
  approval_expired: { kind: 'review', risk: 50 },
  approval_missing: { kind: 'approval', risk: 40 },
  reviewers_unavailable: { kind: 'review', risk: 30 },
  wrong_journal: { kind: 'review', risk: 20 },
  journal_missing: { kind: 'review', risk: 20 },
  content_missing: { kind: 'review', risk: 20 },
  no_adapter: { kind: 'review', risk: 20 },
};
/** Reasons that leave a call of a session indeterminate. */
const INDETERMINATE: ReadonlySet<string> = new Set<ParkReason>(['effect_mismatch', 'ambiguous_effect']);
/** Of a reason that a newer worker wrote. */
const UNKNOWN_REASON = { kind: 'review', risk: 100 } as const;

const QUERY = "WorkflowType = 'governedPlan' AND ExecutionStatus = 'Running'";
const CARRIER = /^countersign\/(run_[0-9a-f]{32})$/;

export function planItems(service: Service): ItemSource {
  const names = new PlanNames(service);
  return {
    list: async (limit) => {
      const { items, more } = await waiting(service, limit);
      return {
        items: await Promise.all(items.map(async (item) => ({ ...item, name: await names.of(item.id) }))),
        more,
      };
    },
  };
}

async function waiting(service: Service, limit: number): Promise<Listed> {
  const items: Item[] = [];
  for await (const execution of executions(service, QUERY)) {
    const item = itemOf(execution);
    if (item !== null) items.push(item);
    if (items.length > limit) break;
  }
  return { items: items.slice(0, limit), more: items.length > limit };
}

/** Null of a plan that waits for nobody. */
function itemOf(execution: Execution): Item | null {
  const runId = CARRIER.exec(execution.execution?.workflowId ?? '')?.[1];
  const memo = memoOf(execution, 'countersign');
  if (runId === undefined || memo['state'] !== 'parked') return null;
  const reason = textOf(memo['reason']) ?? 'unknown';
  const { kind, risk } = isParkReason(reason as ParkReason) ? REASONS[reason as ParkReason] : UNKNOWN_REASON;
  const since = memo['parked_at'];
  const session = sessionOfWorkflow(execution.parentExecution?.workflowId ?? '');
  return {
    id: runId,
    kind: session !== null && INDETERMINATE.has(reason) ? 'call' : kind,
    name: null,
    href: `/runs/${runId}`,
    session,
    reason,
    asks: textOf(memo['asks']),
    progress: textOf(memo['committed']),
    since: Number.isSafeInteger(since) ? (since as number) : null,
    risk,
  };
}

/** What plans and calls are called, as the first event of their history says. It never changes, so each is asked once. */
class PlanNames {
  private readonly known = new Map<string, string | null>();
  private readonly asking = new Map<string, Promise<void>>();

  constructor(private readonly service: Service) {}

  /** Null while it is not known: the list does not wait long for names. */
  async of(runId: string): Promise<string | null> {
    if (!this.known.has(runId) && this.asking.size < MOST_AT_ONCE) {
      const asked = this.ask(runId).finally(() => this.asking.delete(runId));
      this.asking.set(runId, asked);
    }
    await this.asking.get(runId);
    return this.known.get(runId) ?? null;
  }

  private async ask(runId: string): Promise<void> {
    if (this.known.size >= MOST_NAMES) this.known.clear();
    const { client, soon } = this.service;
    try {
      const { plan, callId } = await soon(() => carriedPlan(client, `countersign/${runId}`));
      const call = callOfPlan(plan, callId);
      this.known.set(runId, call === null ? plan.workflowId : call.queue);
    } catch {
      this.known.set(runId, null);
    }
  }
}

const MOST_NAMES = 10_000;
/** A list of many new plans gets its names over a few looks. */
const MOST_AT_ONCE = 64;
