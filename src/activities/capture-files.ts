/**
 * Which capture was used for what, in the whole journal. Invariant: put-if-absent, so of two who use one capture for two things at the same
 * moment one is refused.
 *
 *   captures/<capture id>.json
 */
import type { CreateOutcome } from '../ports';
import { Refusal } from '../rules/refusal';
import { captureToText, type CaptureRecord } from '../rules/verification/capture-record';
import type { Entries, Entry } from './entries';

export class CaptureFiles {
  constructor(private readonly entries: Entries) {}

  settle(capture: CaptureRecord): Promise<CreateOutcome> {
    return this.entries.settle(...captureEntry(capture));
  }

  async isOther(capture: CaptureRecord): Promise<boolean> {
    const [path, text] = captureEntry(capture);
    const bytes = await this.entries.bytes(path);
    return bytes !== null && new TextDecoder().decode(bytes) !== text;
  }

  /** Throws `journal_conflict` where it is known as something else. */
  async refuseOther(capture: CaptureRecord): Promise<void> {
    if (!(await this.isOther(capture))) return;
    const [path] = captureEntry(capture);
    throw new Refusal('journal_conflict', 'is another in the target than in what would be placed there', path);
  }
}

export function captureEntry(capture: CaptureRecord): Entry {
  return [`captures/${capture.captureId}.json`, captureToText(capture)];
}
