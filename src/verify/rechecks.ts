/**
 * What runs of a journal rest on in each other: a recheck on its source, everyone on their captures. Invariant: a run that is not what it
 * would have to be is read once more before it is suspected, as people may have gone on meanwhile.
 */
import { captureFromBytes, captureToText, type CaptureRecord } from '../rules/verification/capture-record';
import { Findings } from './findings';
import { readLifecycle, type LifecycleSummary } from './lifecycle';
import { joined, readRecord, type JournalView } from './view';

export const CAPTURES = 'captures';
const FORMAT = { read: captureFromBytes, text: captureToText };

export async function checkRechecks(
  view: JournalView,
  findings: Findings,
  journalId: string | null,
  summaries: readonly LifecycleSummary[],
): Promise<void> {
  const runs = new Map(summaries.map((one) => [one.digest, one]));
  for (const one of summaries) {
    const { recheck } = one;
    if (recheck === null) continue;
    const source = runs.get(recheck.sourceRun);
    let fault = faultOf(one, source);
    if (fault !== null && source !== undefined) {
      const again = await readLifecycle(view, new Findings(false), source.folder, journalId, source.runId);
      fault = faultOf(one, again ?? undefined);
    }
    if (fault !== null) findings.add('lifecycle_invalid', one.folder, fault);
  }
}

/** What a recheck names that its source does not have; null when it has all. */
function faultOf({ recheck, rechecked }: LifecycleSummary, source: LifecycleSummary | undefined): string | null {
  if (recheck === null) return null;
  if (source === undefined) return 'its source is not here';
  if (!source.intents.has(recheck.intentId)) return 'its intent follows from nothing';
  if (recheck.affirmation !== null && !source.affirmations.has(recheck.affirmation))
    return 'nobody gave its affirmation';
  const known = rechecked.every((to) => source.results.has(to) || source.proposals.has(to));
  return known ? null : 'it rechecks what its source does not have';
}

/** Every capture that a run used is known as used; read before the runs' own uses, it may be there a moment early. */
export async function checkCaptures(
  view: JournalView,
  findings: Findings,
  summaries: readonly LifecycleSummary[],
): Promise<void> {
  const known = new Map<string, CaptureRecord>();
  for (const entry of (await view.list(CAPTURES)) ?? []) {
    const record = await readRecord({ view, findings }, 'capture_invalid', CAPTURES, entry, FORMAT);
    if (record === null) continue;
    if (entry.name === `${record.captureId}.json`) known.set(record.captureId, record);
    else findings.add('capture_invalid', joined(CAPTURES, entry.name));
  }
  for (const { captures } of summaries) {
    for (const id of captures) {
      if (!known.has(id)) findings.add('capture_invalid', joined(CAPTURES, `${id}.json`), 'missing');
    }
  }
}
