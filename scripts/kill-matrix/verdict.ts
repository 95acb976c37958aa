/**
 * What a cell must come to. Invariant: a cell is right only when every effect was written at most once and either all is
 * done, or a person is asked in the one column, and at the rows, where nobody else can know.
 */

/** How the workflow stood when the cell was left. `hung`: neither within the bound. */
export type CellEnd = 'completed' | 'parked' | 'failed' | 'hung';

export interface CellFacts {
  readonly end: CellEnd;
  /** For each effect, the writes that the sink itself counts. */
  readonly writes: readonly number[];
  /** From the last fault to the end. */
  readonly tookMs: number;
  /** What else was found wrong: chain, witnesses, replay, a send that should not have been. */
  readonly problems: readonly string[];
}

export interface CellRules {
  /** The sink can prove nothing and the fault falls between slot and end. */
  readonly mayPark: boolean;
  /** The stated exception: a process paused inside the client of a sink that does not enforce keys. */
  readonly mayDuplicate: boolean;
  /** Deadline, settle time and 30 s: finds what hangs. */
  readonly boundMs: number;
}

export interface Verdict {
  readonly right: boolean;
  readonly duplicates: number;
  readonly lost: number;
  readonly review: boolean;
  /** The stated exception did happen. */
  readonly excepted: boolean;
  readonly why: readonly string[];
}

const UNFINISHED: Record<CellEnd, string | null> = {
  completed: null,
  parked: 'parked although nothing was in doubt',
  failed: 'the workflow failed',
  hung: 'did not end within its bound',
};

export function judgeCell(facts: CellFacts, rules: CellRules): Verdict {
  const { end, writes } = facts;
  const repeated = writes.filter((count) => count > 1);
  const excepted = rules.mayDuplicate && repeated.length > 0 && repeated.every((count) => count === 2);
  const review = end === 'parked';
  const allowedReview = review && rules.mayPark;
  const lost = allowedReview ? 0 : writes.filter((count) => count === 0).length;
  const why = [...facts.problems];
  const unfinished = UNFINISHED[end];
  if (unfinished !== null && !allowedReview) why.push(unfinished);
  if (repeated.length > 0 && !excepted) why.push('an effect was written twice');
  if (end === 'completed' && lost > 0) why.push('an effect that counts as committed is not at the sink');
  if (end !== 'hung' && facts.tookMs > rules.boundMs) why.push('took longer than its bound');
  return { right: why.length === 0, duplicates: excepted ? 0 : repeated.length, lost, review, excepted, why };
}

export interface Totals {
  readonly cells: number;
  readonly wrong: number;
  readonly duplicates: number;
  readonly lost: number;
  readonly reviews: number;
}

export function totals(verdicts: readonly Verdict[]): Totals {
  const sum = (count: (verdict: Verdict) => number): number =>
    verdicts.reduce((total, verdict) => total + count(verdict), 0);
  return {
    cells: verdicts.length,
    wrong: sum((verdict) => Number(!verdict.right)),
    duplicates: sum((verdict) => verdict.duplicates),
    lost: sum((verdict) => verdict.lost),
    reviews: sum((verdict) => Number(verdict.review)),
  };
}
