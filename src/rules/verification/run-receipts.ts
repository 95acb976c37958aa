/** What the records of runs are to `deriveObligations`. Invariant: every record that bears on an obligation is handed on, none twice. */
import { affirmationDigest } from './affirmation';
import type { RunReceipt, VerificationReceipt } from './obligations';
import type { RunBook } from './run-book';

export function runReceiptOf({ must: { run, digest, person, capturedAt } }: RunBook): RunReceipt {
  return { kind: 'run', digest, run, person, capturedAt };
}

/** Of runs by their ids. */
export function* receiptsOf(runs: ReadonlyMap<string, RunBook>): Generator<VerificationReceipt> {
  for (const book of runs.values()) {
    const run = runReceiptOf(book);
    yield run;
    for (const { digest, result } of book.results) yield { kind: 'result', digest, runDigest: run.digest, result };
    for (const relation of book.relations) yield { kind: 'relation', relation };
    for (const sitting of book.sittings) yield { kind: 'sitting', sitting };
    for (const affirmation of book.affirmations) {
      yield { kind: 'affirmation', digest: affirmationDigest(affirmation), affirmation };
    }
  }
}
