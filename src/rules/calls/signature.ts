/**
 * What the compiler knows of an effect. Invariant: types only, so that a workflow that names effects by `import type` bundles
 * nothing of their sinks and schemas.
 */
import type { OrRef, Ref } from './ref';

declare const signature: unique symbol;

/** Carried by an effect's definition; there is never a value. */
export interface EffectSignature<Args, Output, Exposed> {
  readonly [signature]?: { readonly args: Args; readonly output: Output; readonly exposed: Exposed };
}

export interface CallOptions {
  /**
   * Your own name of this effect in this workflow. The same id is the same effect for ever: asked again with the same
   * arguments it answers what was recorded, with others it fails as `plan_conflict`.
   */
  readonly id: string;
}

/** What became of an effect that its sink holds. */
export interface EffectResult<Output = unknown, Exposed = unknown> {
  /** The fields that the definition exposes; null when the sink cannot tell the result any more. */
  readonly exposed: Exposed | null;
  /** Stands for the whole result, and may be an argument of another effect; null when there is none. */
  readonly ref: Ref<Output> | null;
  /** The effect had been done before this call: nothing was sent for it. */
  readonly replayed: boolean;
  readonly runId: string;
  readonly actionId: string;
  /** Digest of the commit evidence in the journal. */
  readonly evidence: string;
}

/** One effect of a plan, not yet asked for. */
export interface PlannedCall<Result = unknown> {
  readonly effect: string;
  readonly id: string;
  readonly args: unknown;
  /** Only for the compiler. */
  readonly result?: Result;
}

export interface EffectProxy<Args, Result> {
  /** Does the effect, and answers what became of it. */
  (args: OrRef<Args>, options: CallOptions): Promise<Result>;
  /** Names the effect for `runPlan`. */
  of(args: OrRef<Args>, options: CallOptions): PlannedCall<Result>;
}

/** The workflow's view of a record of effects. */
export type EffectProxies<Effects> = {
  readonly [Name in keyof Effects]: Effects[Name] extends EffectSignature<infer Args, infer Output, infer Exposed>
    ? EffectProxy<Args, EffectResult<Output, Exposed>>
    : never;
};
