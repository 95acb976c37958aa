/**
 * What the runs of one journal say of each other, gathered while each is read. Invariant: nothing here has been held against anything yet.
 */
import type { LifecycleSummary } from './lifecycle';
import type { CallRun, Claim } from './session-calls';

export class Mentions {
  /** Of every verification run. */
  readonly lifecycles: LifecycleSummary[] = [];
  /** What the logs of sessions say of their calls. */
  readonly claims: Claim[] = [];
  /** The runs of calls, by id. */
  readonly calls = new Map<string, CallRun>();
}
