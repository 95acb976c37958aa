/**
 * Whether what is shown is what the plan is about. Invariant: the digest is taken over exactly the text that stands on the page, with the
 * rules' own code; a text that was changed on the way, in one character, does not fit.
 */
import { contentJson } from '../../rules/plans/content-json';
import { OPERATION_ENVELOPE_SCHEMA_VERSION } from '../../rules/plans/envelope';
import { sha256Digest } from '../../rules/recovery';
import { say } from './page-parts';

export function checkContents(): void {
  for (const shown of document.querySelectorAll<HTMLElement>('pre.content')) {
    const verdict = shown.nextElementSibling;
    if (!(verdict instanceof HTMLElement)) continue;
    if (isCovered(shown))
      say(verdict, '✓ This is what the plan’s digest covers, as this browser computed it.', 'verified');
    else say(verdict, '✗ This is NOT what the plan’s digest covers. Do not decide by it.', 'refuted');
  }
}

function isCovered(shown: HTMLElement): boolean {
  const { salt, tool: tool_id, digest } = shown.dataset;
  if (salt === undefined || tool_id === undefined) return false;
  try {
    const operation: unknown = JSON.parse(shown.textContent ?? '');
    const text = contentJson({ schema_version: OPERATION_ENVELOPE_SCHEMA_VERSION, salt, tool_id, operation });
    return sha256Digest(text) === digest;
  } catch {
    return false;
  }
}
