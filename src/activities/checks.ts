/**
 * The checks that run in a worker, by binding. Invariant: a check runs under exactly the binding that the run's plan names, or
 * nowhere; what it throws is no outcome of the run's.
 */
import type { CheckAnswer, InProcessCheck } from '../ports';
import { isName } from '../rules/verification/names';

export interface CheckDefinition {
  /** As plans name it. A check that answers otherwise than before is another one: give it another binding. */
  readonly binding: string;
  readonly check: InProcessCheck;
}

const DEADLINE_MS = 60_000;
const LONGEST_DEADLINE_MS = 240_000;

export interface KnownCheck {
  readonly deadlineMs: number;
  readonly run: (...given: Parameters<InProcessCheck['run']>) => Promise<CheckAnswer>;
}

export class Checks {
  private readonly defined = new Map<string, KnownCheck>();

  constructor(definitions: readonly CheckDefinition[]) {
    for (const { binding, check } of definitions) {
      if (!isName(binding)) throw new Error('The binding of a check must be a name of up to 128 plain characters');
      const { deadlineMs = DEADLINE_MS } = check;
      if (!Number.isSafeInteger(deadlineMs) || deadlineMs < 1 || deadlineMs > LONGEST_DEADLINE_MS) {
        throw new Error(`deadlineMs of the check ${binding} must be from 1 to ${LONGEST_DEADLINE_MS}`);
      }
      if (this.defined.has(binding)) throw new Error(`The check ${binding} is defined twice; keep one of them`);
      this.defined.set(binding, { deadlineMs, run: async (question, context) => check.run(question, context) });
    }
  }

  find(binding: string): KnownCheck | null {
    return this.defined.get(binding) ?? null;
  }
}
