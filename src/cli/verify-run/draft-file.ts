/**
 * The file of a verification run: what is looked at, by whom, with which checks, at what price. Invariant: wholly checked before
 * anything is stored; `start`, `recheck` and `affirm` read the same file, and take of it what they need.
 */
import path from 'node:path';
import type { Capture, CheckDraft, Executor, LaunchedExecutor, RunDraft } from '../../client';
import { Fields } from '../../rules/fields';
import { isPerson } from '../../rules/receipts/names';
import { CONTENT_BOUNDARIES, isCaptureId, nameAt, type ContentBoundary } from '../../rules/verification/names';
import { refuseEarly } from '../../verification-drafts';
import { readBounded } from '../plan-file';
import { MAX_PLAN_BYTES, readPlanText } from '../plan-text';
import { CliError } from '../failure';

const CODE = 'invalid_arguments';
/** As large as what the content store takes of one entry, with room for its envelope. */
const MAX_CONTENT_BYTES = 4 * 1024 * 1024;

/** Throws `Refusal` at the first field that is not as it must be. */
export function readRunDraft(file: string): RunDraft {
  const at = new Fields(readPlanText(readBounded(file, MAX_PLAN_BYTES)), '', CODE);
  const protectedIntent = at.optional<Partial<RunDraft>>(
    'protected_intent',
    (field) => ({ protectedIntent: at.raw(field) }),
    {},
  );
  const coordinator = at.optional(
    'coordinator',
    (field) => at.nullable(field, (name) => launched(new Fields(at.raw(name), name, CODE), 'whole_context')),
    null,
  );
  const draft: RunDraft = {
    person: at.text('person', 'a person such as person:example.org/clerk-1', isPerson),
    capture: captureOf(at.raw('capture'), path.dirname(file)),
    goal: at.raw('goal'),
    ...protectedIntent,
    checks: at.list('checks', 1).map(checkOf),
    executors: at.list('executors').map(executorOf),
    ...(coordinator === null ? {} : { coordinator }),
  };
  at.end();
  refuseEarly(draft);
  return draft;
}

function captureOf(value: unknown, folder: string): Capture {
  const at = new Fields(value, 'capture', CODE);
  if (at.has('content') === at.has('file'))
    at.refuse('or "file" must say what is looked at, one of the two', 'content');
  const given = <T>(field: string, name: string, read: (field: string) => T): Record<string, T> =>
    at.optional<Record<string, T>>(field, (own) => ({ [name]: read(own) }), {});
  const text = (field: string): string => at.text(field, 'a text', (one) => one !== '');
  const capture = {
    source: text('source'),
    content: at.has('file') ? contentOf(path.resolve(folder, text('file'))) : at.raw('content'),
    ...given('target', 'target', (field) => at.raw(field)),
    ...given('reference', 'reference', text),
    ...given('capture_id', 'captureId', (field) => at.text(field, '"cap_" and 32 lowercase hex digits', isCaptureId)),
    ...given('captured_at', 'capturedAt', (field) => at.count(field)),
    ...given('context_boundary', 'contextBoundary', (field) => at.oneOf(field, CONTENT_BOUNDARIES)),
  } as Capture;
  at.end();
  return capture;
}

/** The text of a file, or what it holds as JSON. */
function contentOf(file: string): unknown {
  const bytes = readBounded(file, MAX_CONTENT_BYTES);
  if (bytes.length > MAX_CONTENT_BYTES) throw unreadable(file, `is larger than ${MAX_CONTENT_BYTES / 2 ** 20} MiB`);
  if (file.endsWith('.json')) return readPlanText(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unreadable(file, 'is not UTF-8 text');
  }
}

function unreadable(file: string, why: string): CliError {
  return new CliError('input_unreadable', `${file} ${why}`, 'capture.file');
}

function checkOf(value: unknown, index: number): CheckDraft {
  const at = new Fields(value, `checks[${index}]`, CODE);
  const check = {
    criterion: nameAt(at, 'criterion'),
    check: nameAt(at, 'check'),
    binding: nameAt(at, 'binding'),
    ...at.optional<Partial<CheckDraft>>('configuration', (field) => ({ configuration: at.raw(field) }), {}),
  };
  at.end();
  return check;
}

function executorOf(value: unknown, index: number): Executor {
  const at = new Fields(value, `executors[${index}]`, CODE);
  if (at.oneOf('mode', ['in_process', 'launched']) === 'launched') return launched(at, 'captured_target_only');
  const executor = { mode: 'in_process' as const, binding: nameAt(at, 'binding') };
  at.end();
  return executor;
}

function launched(at: Fields, boundary: ContentBoundary): LaunchedExecutor {
  const executor = {
    mode: at.oneOf('mode', ['launched']),
    binding: nameAt(at, 'binding'),
    provider: nameAt(at, 'provider'),
    model: nameAt(at, 'model'),
    contentBoundary: at.optional('content_boundary', (field) => at.oneOf(field, CONTENT_BOUNDARIES), boundary),
    costCeiling: at.count('cost_ceiling'),
  };
  at.end();
  return executor;
}
