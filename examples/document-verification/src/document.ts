/** The document, the section of it that is checked, and the checks. */
import { randomBytes } from 'node:crypto';
import type { Capture, CheckDraft, LaunchedExecutor, RunDraft } from 'countersign/client';
import { SCRIPTED, TONE } from './launchers';

export const SECTION = 'Results';
export const GOAL = { readers: 'anybody', wants: 'a section that can be believed, in plain words' };
/** What no proposal may touch. */
export const PROTECTED = { figures: ['41 seconds', '68 seconds'] };

/** A capture is frozen under an id of its own: asked for again, it is the same. */
export function captureOf(source: string, text: string): Capture {
  const [, section = ''] = new RegExp(`\n## ${SECTION}\n([^]*?)(?=\n## |$)`).exec(text) ?? [];
  return {
    captureId: `cap_${randomBytes(16).toString('hex')}`,
    source,
    content: text,
    target: section.trim(),
    reference: SECTION,
  };
}

const specialist = (check: string, configuration: unknown = null): CheckDraft => ({
  ...{ criterion: check, check, binding: check, configuration },
});
const launched = (binding: string, more: Partial<LaunchedExecutor> = {}): LaunchedExecutor => ({
  ...{ mode: 'launched', binding, ...SCRIPTED, contentBoundary: 'captured_target_only', costCeiling: 1 },
  ...more,
});

export function draftOf(person: string, capture: Capture, headings: readonly string[]): RunDraft {
  return {
    ...{ person, capture, goal: GOAL, protectedIntent: PROTECTED },
    checks: [
      { criterion: 'links', check: 'links', binding: 'links', configuration: { headings } },
      { criterion: 'terms', check: 'terms', binding: 'terms', configuration: { say: 'readers', notSay: ['users'] } },
      specialist('figures'),
      specialist('tone', { words: ['absolutely incredible'] }),
      specialist('length', { most: 30 }),
    ],
    executors: [
      { mode: 'in_process', binding: 'links' },
      { mode: 'in_process', binding: 'terms' },
      launched('figures'),
      launched('tone', TONE),
      launched('length'),
    ],
    coordinator: launched('coordinate', { contentBoundary: 'whole_context' }),
  };
}
