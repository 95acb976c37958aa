/**
 * The launchers of a worker, by provider and model. Invariant: a launch goes to exactly the provider and model that were
 * authorized, or nowhere; there is no fallback.
 */
import type { Launcher } from '../ports';
import { isName } from '../rules/verification/names';

export interface LauncherDefinition {
  /** As receipts name it. */
  readonly provider: string;
  readonly model: string;
  readonly launcher: Launcher;
}

const LONGEST_DEADLINE_MS = 3_600_000;

export class Launchers {
  private readonly defined = new Map<string, Launcher>();

  constructor(definitions: readonly LauncherDefinition[]) {
    for (const { provider, model, launcher } of definitions) {
      if (!isName(provider) || !isName(model)) {
        throw new Error('The provider and model of a launcher must be names of up to 128 plain characters');
      }
      const { deadlineMs } = launcher;
      if (!Number.isSafeInteger(deadlineMs) || deadlineMs < 1 || deadlineMs > LONGEST_DEADLINE_MS) {
        throw new Error(`deadlineMs of the launcher ${provider} ${model} must be from 1 to ${LONGEST_DEADLINE_MS}`);
      }
      if (this.defined.has(key(provider, model))) {
        throw new Error(`The launcher ${provider} ${model} is defined twice; keep one of them`);
      }
      this.defined.set(key(provider, model), launcher);
    }
  }

  find(provider: string, model: string): Launcher | null {
    return this.defined.get(key(provider, model)) ?? null;
  }

  get all(): ReadonlySet<Launcher> {
    return new Set(this.defined.values());
  }

  get longestDeadlineMs(): number {
    return Math.max(0, ...[...this.all].map(({ deadlineMs }) => deadlineMs));
  }
}

/** Names hold no blanks. */
function key(provider: string, model: string): string {
  return `${provider} ${model}`;
}
