/**
 * The tools that this worker can reach. Invariant: a tool has one definition, complete and bounded, before any plan is
 * driven; a sink that cannot keep its promises is refused when the worker starts, not in the middle of a plan.
 */
import type { EffectDefinition, EffectSink } from '../ports';
import { UNDECLARED_CLASS, isResendSafe } from '../rules/invocations/class-table';
import { isGovernedId } from '../rules/recovery';
import type { GovernedPlan } from '../rules/plans/plan';
import { Refusal } from '../rules/refusal';
import type { SinkTraits } from '../rules/sends/proof';
import type { SideEffectClass } from '../rules/sends/traits';

const LONGEST_DEADLINE_MS = 3_600_000;
const LONGEST_SETTLE_MS = 86_400_000;
const MOST_ATTEMPTS = 50;
const MOST_IN_FLIGHT = 1_000;

/** Definitions, or definitions by the names under which authors call them. */
export type Effects = readonly EffectDefinition[] | Readonly<Record<string, EffectDefinition>>;

export class Registry {
  private readonly definitions = new Map<string, EffectDefinition>();
  private readonly described: Set<string>;

  /** `described`: tools that other workers run; one that is defined here as well is run here. */
  constructor(
    private readonly defined: Effects,
    described: readonly EffectDefinition[] = [],
  ) {
    const own = new Set(Object.values(defined).map(({ toolId }) => toolId));
    const others = described.filter(({ toolId }) => !own.has(toolId));
    this.described = new Set(others.map(({ toolId }) => toolId));
    for (const definition of [...Object.values(defined), ...others]) {
      const { toolId, sink, maxAttempts } = definition;
      if (!isGovernedId(toolId, 'tool')) {
        throw new Error(`"${toolId}" is not a governed tool id; name it like tool:example.org/reserve@1.0.0`);
      }
      if (this.definitions.has(toolId)) throw new Error(`${toolId} is defined twice; keep one definition of it`);
      bounded(toolId, 'deadlineMs', sink.deadlineMs, 1, LONGEST_DEADLINE_MS);
      bounded(toolId, 'settleMs', sink.settleMs, 0, LONGEST_SETTLE_MS);
      bounded(toolId, 'maxAttempts', maxAttempts ?? 3, 1, MOST_ATTEMPTS);
      bounded(toolId, 'maxInFlight', sink.maxInFlight ?? 1, 1, MOST_IN_FLIGHT);
      bounded(toolId, 'minIntervalMs', sink.minIntervalMs ?? 0, 0, LONGEST_DEADLINE_MS);
      bounded(toolId, 'horizonMs', sink.horizonMs ?? 1, 1, Number.MAX_SAFE_INTEGER);
      if (sink.enforcesKey === 'within_horizon' && sink.horizonMs === undefined) {
        throw new Error(`${toolId} enforces its key within a horizon but declares no horizonMs; say how long`);
      }
      this.definitions.set(toolId, definition);
    }
  }

  /** Longest time that one send of any tool may take, in milliseconds. */
  get longestDeadlineMs(): number {
    return Math.max(0, ...[...this.definitions.values()].map((definition) => definition.sink.deadlineMs));
  }

  get sinks(): ReadonlySet<EffectSink> {
    return new Set([...this.definitions.values()].map((definition) => definition.sink));
  }

  get(toolId: string): EffectDefinition {
    const definition = this.definitions.get(toolId);
    if (definition === undefined) {
      throw new Refusal(
        'no_adapter',
        'has no sink on this worker; define it in the plugin, then ask for the plan again (or reobserve a parked one)',
        toolId,
      );
    }
    return definition;
  }

  /** The effect that authors call by this name. */
  named(effect: string): EffectDefinition {
    const { defined } = this;
    if (!Array.isArray(defined) && Object.prototype.hasOwnProperty.call(defined, effect)) {
      return (defined as Readonly<Record<string, EffectDefinition>>)[effect] as EffectDefinition;
    }
    throw new Refusal(
      'no_adapter',
      'is no effect of this worker; give its plugin the record of effects that the workflow’s proxies are typed by',
      effect,
    );
  }

  /** The definition of a tool, or null where this worker has none. */
  find(toolId: string): EffectDefinition | null {
    return this.definitions.get(toolId) ?? null;
  }

  /** Whether this worker only knows the tool, and others send it. */
  describes(toolId: string): boolean {
    return this.described.has(toolId);
  }

  /** Whether this worker can send all of a plan, or only knows some of its tools. */
  sends(plan: GovernedPlan): boolean {
    return !plan.effects.some(({ toolId }) => this.described.has(toolId));
  }

  /** Refuses a plan that names a tool this worker does not have, or has as another kind. */
  check(plan: GovernedPlan): void {
    for (const effect of plan.effects) {
      const { sink } = this.get(effect.toolId);
      if (sink.kind !== effect.kind) {
        throw new Refusal('no_adapter', `is a ${sink.kind} here, but the plan calls it ${effect.kind}`, effect.toolId);
      }
    }
  }
}

/** `sideEffect`: for whom it is sent, it is of this class, which is more careful than its own. */
export function traitsOf({ sink, maxAttempts }: EffectDefinition, sideEffect?: SideEffectClass): SinkTraits {
  return {
    sideEffect: sideEffect ?? sink.sideEffect ?? UNDECLARED_CLASS,
    lookup: sink.lookup,
    enforcesKey: sideEffect === undefined || isResendSafe(sideEffect) ? sink.enforcesKey : 'no',
    deadlineMs: sink.deadlineMs,
    settleMs: sink.settleMs,
    horizonMs: sink.horizonMs ?? null,
    maxAttempts: maxAttempts ?? 3,
  };
}

function bounded(toolId: string, name: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new Error(`${name} of ${toolId} must be a whole number from ${least} to ${most}`);
}
