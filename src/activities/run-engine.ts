/**
 * What verification runs work with. Invariant: it knows no Temporal; who calls, and for how long, comes in with each call.
 */
import type { LifecycleEvent } from '../rules/verification/lifecycle-record';
import type { Checks } from './checks';
import type { LaunchCaller, LaunchEngine } from './launch-engine';

export interface RunEngine extends LaunchEngine {
  readonly checks: Checks;
  readonly mostLaunchedChecks: number;
  /** Called when a record is durable. Used by tests only. @internal */
  atRecord?(event: LifecycleEvent): void | Promise<void>;
}

export interface RunCaller extends LaunchCaller {
  /** True when this execution should come back soon, and be asked again. */
  stopping(): boolean;
}
