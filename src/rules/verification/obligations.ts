/**
 * What has to be checked again, derived from receipts. Invariant: the answer is a pure function of the set of receipts, whatever the
 * order in which they arrived and however often; there is no queue that could disagree with it.
 */
import { sameCheck } from './check-plan';
import type { ResultRelation, CheckResult } from './results';
import type { VerificationRun } from './run';
import { recheckIntentId, type RecheckIntent, type Sitting } from './sitting';
import { targetFault } from './recheck-target';
import type { Affirmation } from './affirmation';

export interface RunReceipt {
  readonly kind: 'run';
  readonly digest: string;
  readonly run: VerificationRun;
  /** Digest of the person who started it. */
  readonly person: string;
  /** When its snapshot was captured: unix milliseconds. */
  readonly capturedAt: number;
}
/** `digest` and `runDigest` are what they were stored under; whoever reads them has compared. */
export type VerificationReceipt =
  | RunReceipt
  | { readonly kind: 'result'; readonly digest: string; readonly runDigest: string; readonly result: CheckResult }
  | { readonly kind: 'relation'; readonly relation: ResultRelation }
  | { readonly kind: 'sitting'; readonly sitting: Sitting }
  | { readonly kind: 'affirmation'; readonly digest: string; readonly affirmation: Affirmation };

export const OBLIGATION_STATES = ['pending_capture', 'user_action_required', 'fulfilled'] as const;
export type ObligationState = (typeof OBLIGATION_STATES)[number];

export interface Obligation extends RecheckIntent {
  readonly intentId: string;
  readonly state: ObligationState;
  /** Proposals that no recheck has answered yet. */
  readonly pending: readonly string[];
  /** Unix milliseconds: when the sitting was committed. */
  readonly committedAt: number;
  readonly source: RunReceipt;
}

/** In ascending order of their ids. */
export function deriveObligations(receipts: Iterable<VerificationReceipt>): readonly Obligation[] {
  const index = new Index(receipts);
  const obligations = new Map<string, Obligation>();
  for (const sitting of index.sittings) {
    for (const [sourceRun, proposals] of index.sourcesOf(sitting)) {
      const source = index.runs.get(sourceRun);
      // Of a run that came later nobody can have applied anything, whatever its proposals are called.
      if (source === undefined || source.capturedAt > sitting.committedAt) continue;
      const intent = { sittingId: sitting.sittingId, sourceRun, proposals: [...proposals].sort() };
      const intentId = recheckIntentId(intent);
      const pending = index.pending({ ...intent, intentId, committedAt: sitting.committedAt, source });
      const { committedAt } = sitting;
      obligations.set(intentId, { intentId, ...intent, state: stateOf(source, pending), pending, committedAt, source });
    }
  }
  return [...obligations.values()].sort((a, b) => (a.intentId < b.intentId ? -1 : 1));
}

/** A part without a durable reference cannot be found again; the whole always can. */
export function needsPerson({ run: { snapshot } }: Pick<RunReceipt, 'run'>): boolean {
  return snapshot.selector.kind === 'part' && snapshot.selector.reference === null;
}

function stateOf(source: RunReceipt, pending: readonly string[]): ObligationState {
  if (pending.length === 0) return 'fulfilled';
  return needsPerson(source) ? 'user_action_required' : 'pending_capture';
}

type Bound = RecheckIntent & Pick<Obligation, 'intentId' | 'committedAt' | 'source'>;

/** The receipts, by what refers to them. */
class Index {
  readonly runs = new Map<string, RunReceipt>();
  readonly sittings: readonly Sitting[];
  private readonly results = new Map<string, { readonly runDigest: string; readonly result: CheckResult }>();
  private readonly affirmations = new Map<string, Affirmation>();
  /** Proposal → results that address it. */
  private readonly addressing = new Map<string, Set<string>>();
  /** Result or proposal → results that recheck it. */
  private readonly rechecking = new Map<string, Set<string>>();
  /** Intent → runs that are bound to it. */
  private readonly answering = new Map<string, RunReceipt[]>();

  constructor(receipts: Iterable<VerificationReceipt>) {
    const sittings = new Map<string, Sitting>();
    for (const receipt of receipts) {
      switch (receipt.kind) {
        case 'run':
          this.addRun(receipt);
          break;
        case 'result':
          this.results.set(receipt.digest, receipt);
          break;
        case 'affirmation':
          this.affirmations.set(receipt.digest, receipt.affirmation);
          break;
        case 'relation':
          this.addRelation(receipt.relation);
          break;
        case 'sitting':
          addSitting(sittings, receipt.sitting);
      }
    }
    this.sittings = [...sittings.values()];
  }

  /** The proposals of a sitting, by the runs whose results they address. */
  sourcesOf({ proposals }: Sitting): ReadonlyMap<string, ReadonlySet<string>> {
    const sources = new Map<string, Set<string>>();
    for (const proposal of proposals) {
      for (const digest of this.addressing.get(proposal) ?? []) {
        const runDigest = this.results.get(digest)?.runDigest;
        if (runDigest !== undefined) add(sources, runDigest, proposal);
      }
    }
    return sources;
  }

  pending(bound: Bound): readonly string[] {
    const answers = (this.answering.get(bound.intentId) ?? []).filter((run) => this.conforms(run, bound));
    if (answers.length === 0) return bound.proposals;
    return bound.proposals.filter((proposal) => !answers.some((run) => this.answers(run, proposal, bound)));
  }

  /** What a run that nobody admitted brings counts no more than the run. */
  private conforms({ run, person, capturedAt }: RunReceipt, bound: Bound): boolean {
    const { recheck } = run.input;
    if (recheck?.sourceRun !== bound.sourceRun || capturedAt <= bound.committedAt) return false;
    const affirmation = recheck.affirmation === null ? null : (this.affirmations.get(recheck.affirmation) ?? null);
    return targetFault({ run, person }, bound, affirmation) === null;
  }

  /** Each result of the source that the proposal addresses was evaluated again, by the same check, and so was the proposal. */
  private answers({ digest, run }: RunReceipt, proposal: string, { sourceRun }: Bound): boolean {
    if (run.input.recheck?.proposals.includes(proposal) !== true) return false;
    const again = this.rechecking.get(proposal) ?? NOTHING;
    for (const before of this.addressing.get(proposal) ?? NOTHING) {
      const old = this.results.get(before);
      if (old?.runDigest !== sourceRun) continue;
      const rechecks = this.rechecking.get(before) ?? NOTHING;
      const found = [...rechecks].some((one) => {
        const result = this.results.get(one);
        if (result?.runDigest !== digest || !again.has(one)) return false;
        return sameCheck(result.result.check, old.result.check);
      });
      if (!found) return false;
    }
    return true;
  }

  private addRun(receipt: RunReceipt): void {
    if (this.runs.has(receipt.digest)) return;
    this.runs.set(receipt.digest, receipt);
    const intent = receipt.run.input.recheck?.intentId;
    if (intent === undefined) return;
    const known = this.answering.get(intent);
    if (known === undefined) this.answering.set(intent, [receipt]);
    else known.push(receipt);
  }

  private addRelation({ kind, from, to }: ResultRelation): void {
    if (kind === 'addresses') add(this.addressing, to, from);
    if (kind === 'rechecks') add(this.rechecking, to, from);
  }
}

const NOTHING: ReadonlySet<string> = new Set();

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, new Set([value]));
  else known.add(value);
}

/** One sitting under two contents is nobody's to settle: the proposals of both count, from the later moment. */
function addSitting(sittings: Map<string, Sitting>, sitting: Sitting): void {
  const known = sittings.get(sitting.sittingId);
  if (known === undefined) {
    sittings.set(sitting.sittingId, sitting);
    return;
  }
  const proposals = [...new Set([...known.proposals, ...sitting.proposals])].sort();
  const committedAt = Math.max(known.committedAt, sitting.committedAt);
  const person = known.person < sitting.person ? known.person : sitting.person;
  sittings.set(sitting.sittingId, { ...known, person, proposals, committedAt });
}
