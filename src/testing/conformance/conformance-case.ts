/** One case of the kit. Invariant: a case that did not run, or whose fault did not happen, says so; it has not passed. */
import type { SinkFault } from './promises';
import type { Stand } from './stand';

/** A case as it is written down. */
export interface CaseOf {
  readonly fault: SinkFault;
  /** What a sink must keep under this fault. */
  readonly keeps: string;
  /** The fault is one of meaning: it needs the proxy that speaks HTTP. @default false */
  readonly meaning?: boolean;
  /** Throws a `BrokenPromise` or `NotApplicable`. */
  run(stand: Stand): Promise<void>;
}

/** What a case came to when no promise was broken. */
export type CaseResult = { readonly result: 'kept' } | { readonly result: 'not_applicable'; readonly reason: string };

/** A case as a test runner runs it. */
export interface SinkConformanceCase {
  /** `fault: what must be kept`. */
  readonly name: string;
  readonly fault: SinkFault;
  /** Throws a `BrokenPromise` that names the fault and the promise; anything else that it throws is a fault of the fixture. */
  run(): Promise<CaseResult>;
}
