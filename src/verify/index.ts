/** Verifying a journal without Temporal and without its sinks; imported as `countersign/verify`. */
export { type AnchorCheck, type AnchorReport, type GivenAnchor } from './anchors';
export { diskView } from './disk-view';
export { storeView } from './store-view';
export { FINDINGS, type Divergence, type Finding, type FindingCode } from './findings';
export type { GivenHistory, HistoryReport } from './histories';
export { type Justified, type LineageHead, type LineageReport } from './lineage';
export { type RunReport } from './run';
export { verifyJournal, type VerifiedKind, type VerifyOptions, type VerifyReport } from './verify';
export { type Entry, type JournalView } from './view';

import { diskView } from './disk-view';
import { verifyJournal, type VerifyOptions, type VerifyReport } from './verify';

/** Verifies the journal, run or lineage in a plain folder. */
export function verify(folder: string, options: VerifyOptions = {}): Promise<VerifyReport> {
  return verifyJournal(diskView(folder), options);
}
