/**
 * Which capture was used for what, in the whole journal. Invariant: put-if-absent, so of two who use one capture for two things at the same
 * moment one is refused.
 *
 *   captures/<capture id>.json
 */
import type { CreateOutcome } from '../ports';
import { Refusal } from '../rules/refusal';
import { captureToText, type CaptureRecord } from '../rules/verification/capture-record';
import type { Entries } from './entries';

export class CaptureFiles {
  constructor(private readonly entries: Entries) {}

  settle(capture: CaptureRecord): Promise<CreateOutcome> {
    return this.entries.settle(pathOf(capture), captureToText(capture));
  }

  /** Throws `journal_conflict` where it is known as something else. */
  async refuseOther(capture: CaptureRecord): Promise<void> {
    const path = pathOf(capture);
    const bytes = await this.entries.bytes(path);
    if (bytes === null || new TextDecoder().decode(bytes) === captureToText(capture)) return;
    throw new Refusal('journal_conflict', 'is another in the target than in what would be placed there', path);
  }
}

function pathOf({ captureId }: CaptureRecord): string {
  return `captures/${captureId}.json`;
}
