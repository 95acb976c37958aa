/**
 * Who runs the checks of a plan, and at what price. Invariant: provider, model, content boundary and cost ceiling of every launch
 * are fixed before a run begins; there is no fallback, and a check whose binding nobody serves is refused.
 */
import { Fields, type Dict } from '../fields';
import { CONTENT_BOUNDARIES, nameAt, type ContentBoundary } from './names';

export interface InProcessExecutor {
  readonly mode: 'in_process';
  readonly binding: string;
}
/** Runs by one authorized launch a check. */
export interface LaunchedExecutor {
  readonly mode: 'launched';
  readonly binding: string;
  readonly provider: string;
  readonly model: string;
  readonly contentBoundary: ContentBoundary;
  /** Whole units of the provider's account; a launch may cost no more. */
  readonly costCeiling: number;
}
export type Executor = InProcessExecutor | LaunchedExecutor;

export interface Executors {
  /** In ascending order of their bindings, each once. */
  readonly checks: readonly Executor[];
  /** Who sees all results at the end. Null: nobody, which only a run without launched checks may have. */
  readonly coordinator: LaunchedExecutor | null;
}

export function executorOf(executors: Executors, binding: string): Executor | null {
  return executors.checks.find((one) => one.binding === binding) ?? null;
}

export function executorsToRecord({ checks, coordinator }: Executors): Dict {
  return {
    checks: checks.map(executorToRecord),
    coordinator: coordinator === null ? null : executorToRecord(coordinator),
  };
}

export function executorsFromRecord(value: unknown, path = 'executors'): Executors {
  const at = new Fields(value, path);
  const checks = at.list('checks').map((one, index) => executorFromRecord(one, `${path}.checks[${index}]`));
  const coordinator = at.nullable('coordinator', (field) => {
    const executor = executorFromRecord(at.raw(field), `${path}.${field}`);
    return executor.mode === 'launched' ? executor : at.refuse('must be a launched executor', field);
  });
  at.end();
  if (checks.some(({ binding }, index) => index > 0 && binding <= (checks[index - 1] as Executor).binding)) {
    at.refuse('must be in ascending order of their bindings, each once', 'checks');
  }
  const wide = checks.findIndex((one) => one.mode === 'launched' && one.contentBoundary !== 'captured_target_only');
  if (wide >= 0) at.refuse('must be captured_target_only for a specialist', `checks[${wide}].content_boundary`);
  return { checks, coordinator };
}

function executorToRecord(executor: Executor): Dict {
  if (executor.mode === 'in_process') return { mode: executor.mode, binding: executor.binding };
  return {
    mode: executor.mode,
    binding: executor.binding,
    provider: executor.provider,
    model: executor.model,
    content_boundary: executor.contentBoundary,
    cost_ceiling: executor.costCeiling,
  };
}

function executorFromRecord(value: unknown, path: string): Executor {
  const at = new Fields(value, path);
  const mode = at.oneOf('mode', ['in_process', 'launched'] as const);
  const binding = nameAt(at, 'binding');
  const executor: Executor =
    mode === 'in_process'
      ? { mode, binding }
      : {
          mode,
          binding,
          provider: nameAt(at, 'provider'),
          model: nameAt(at, 'model'),
          contentBoundary: at.oneOf('content_boundary', CONTENT_BOUNDARIES),
          costCeiling: at.count('cost_ceiling'),
        };
  at.end();
  return executor;
}
