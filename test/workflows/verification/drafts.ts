/** What is asked in tests of verification runs: a document, checks that run in the worker, and workers of one provider. */
import type { CheckDraft, LaunchedExecutor, RunDraft } from '../../../src/client';
import { personOf } from '../../rules/receipts/support';

export const PROVIDER = 'example.org/model';
export const MODEL = 'model-1';
export const ANN = personOf('ann');

const LAUNCHED: LaunchedExecutor = {
  mode: 'launched',
  binding: 'style',
  provider: PROVIDER,
  model: MODEL,
  contentBoundary: 'captured_target_only',
  costCeiling: 5,
};
export const COORDINATOR: LaunchedExecutor = { ...LAUNCHED, binding: 'coordinate', contentBoundary: 'whole_context' };

export const local = (number: number, most = 3): CheckDraft => ({
  ...{ criterion: `length-${number}`, check: 'words', binding: 'words', configuration: { most } },
});
export const specialist = (number: number): CheckDraft => ({
  ...{ criterion: `style-${number}`, check: 'style', binding: 'style', configuration: { rule: number } },
});

/** `locals` checks in the worker, `specialists` launched ones, and the coordinator where anything is launched. */
export function draft(locals: number, specialists: number, more: Partial<RunDraft> = {}): RunDraft {
  const all = [
    ...Array.from({ length: locals }, (_, index) => local(index)),
    ...Array.from({ length: specialists }, (_, index) => specialist(index)),
  ];
  return {
    person: ANN,
    goal: 'plain words',
    protectedIntent: 'the figures',
    capture: { source: 'documents/one', content: 'All of a text.', target: 'planted text', reference: 'section-2' },
    checks: all,
    executors: [
      ...(locals === 0 ? [] : [{ mode: 'in_process' as const, binding: 'words' }]),
      ...(specialists === 0 ? [] : [LAUNCHED]),
    ],
    ...(specialists === 0 ? {} : { coordinator: COORDINATOR }),
    ...more,
  };
}
