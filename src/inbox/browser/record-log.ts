/**
 * Whether the records of a session, or of a verification run, are what they should be. Invariant: each is taken by the rules' own reader, by
 * its digest and by what could have happened; nothing is believed that the inbox says of them.
 */
import { SessionLogReader } from '../../rules/invocations/session-log';
import { lifecycleFromBytes } from '../../rules/verification/lifecycle-record';
import { RunBook } from '../../rules/verification/run-book';
import type { SentRun } from './entries-view';
import type { LivePage } from './live';
import { byId, say } from './page-parts';
import { fetchJson } from './server';

/** Throws at the first record that does not follow. */
type Take = (text: string) => unknown;

interface Kind {
  /** Which entries of the folder are records. */
  readonly records: RegExp;
  readonly reader: (name: string, sent: SentRun) => Take;
}

const KINDS: Readonly<Record<string, Kind>> = {
  session: {
    records: /^[^/]+\/events\/[0-9]{20}\.json$/,
    reader: (name) => {
      const log = new SessionLogReader(name);
      return (text) => log.take(text);
    },
  },
  run: {
    records: /^[^/]+\/lifecycle\/[0-9]{20}\.json$/,
    reader: (name, { journal_id: journalId }) => {
      const book = new RunBook(name, journalId);
      return (text) => book.accept(lifecycleFromBytes(text));
    },
  },
};

export async function showLog(live: LivePage): Promise<void> {
  const place = byId('log-verdict');
  const kind = KINDS[place?.dataset['kind'] ?? ''];
  if (place === null || kind === undefined) return;
  const { name = '', entries = '' } = place.dataset;
  const verify = async (): Promise<void> => {
    let sent: SentRun;
    try {
      sent = (await fetchJson(entries)) as SentRun;
    } catch {
      // What was verified stays: records never change.
      if (place.className === '') say(place, 'The records cannot be had now, so nothing is verified.');
      return;
    }
    const found = faultOf(kind, name, sent);
    if (typeof found === 'string') say(place, `✗ This browser refuses its records: ${found}`, 'refuted');
    else say(place, `✓ This browser verified all ${found} records, each from the one before it.`, 'verified');
  };
  live.onChange(() => void verify());
  await verify();
}

/** How many records there are; what is wrong with the first that does not follow. */
function faultOf({ records, reader }: Kind, name: string, sent: SentRun): number | string {
  let read = 0;
  try {
    const take = reader(name, sent);
    for (const [path, text] of sent.entries) {
      if (!records.test(path)) continue;
      take(text);
      read += 1;
    }
    return read;
  } catch (fault) {
    return `record ${read + 1}: ${fault instanceof Error ? fault.message : 'it cannot be read'}`;
  }
}
