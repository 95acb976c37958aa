/**
 * The log of one tool session, and what stands beside it. Invariant: a record is taken only where it follows from those before it, by its
 * digest and by what can happen in a session; an answer in the log is the recorded one, and what the session is has the digest that
 * its first event names.
 */
import { callPlace, sessionRunId } from '../rules/invocations/names';
import type { SessionBodies } from '../rules/invocations/session-event';
import { SessionLogReader } from '../rules/invocations/session-log';
import { recordFromBytes, recordName, recordToText, type SessionRecord } from '../rules/invocations/session-record';
import {
  definitionDigest,
  definitionFromBytes,
  definitionToText,
  type SessionDefinition,
} from '../rules/sessions/definition-record';
import { demandFromBytes, demandName, demandToText } from '../rules/sessions/demand-record';
import { roundFromBytes, roundName, roundToText, type RoundRecord } from '../rules/sessions/round-record';
import type { Findings } from './findings';
import { joined, readRecord, type Entry, type JournalView } from './view';

/** What stands in the folder of a session, and in no other. */
export const SESSION_PARTS = { 'definition.json': 'file', events: 'directory', rounds: 'directory' } as const;
const DEFINITION = 'definition.json';

const DEFINITION_FORMAT = { read: definitionFromBytes, text: definitionToText };
const EVENT_FORMAT = { read: recordFromBytes, text: recordToText };
const ROUND_FORMAT = { read: roundFromBytes, text: roundToText };
const DEMAND_FORMAT = { read: demandFromBytes, text: demandToText };

interface Place {
  readonly view: JournalView;
  readonly findings: Findings;
  readonly folder: string;
}

/** The records of its log; null where the folder is not that of a session. */
export async function readSession(
  view: JournalView,
  findings: Findings,
  folder: string,
  entries: readonly Entry[],
  expectedRunId: string | null,
): Promise<readonly SessionRecord[] | null> {
  if (!entries.some(({ name }) => name in SESSION_PARTS)) return null;
  const at = { view, findings, folder };
  const file = entries.find(({ name }) => name === DEFINITION);
  const definition =
    file === undefined ? null : await readRecord(at, 'session_invalid', folder, file, DEFINITION_FORMAT);
  const misplaced = definition !== null && expectedRunId !== null && sessionRunId(definition.session) !== expectedRunId;
  if (file === undefined || misplaced) findings.add('session_invalid', joined(folder, DEFINITION), 'session_id');
  if (definition === null || misplaced) return [];
  const records = await readEvents(at, definition);
  await readRounds(at, definition, records);
  return records;
}

async function readEvents(at: Place, definition: SessionDefinition): Promise<readonly SessionRecord[]> {
  const folder = joined(at.folder, 'events');
  const reader = new SessionLogReader(definition.session);
  const records: SessionRecord[] = [];
  for (const entry of sorted(await at.view.list(folder))) {
    const path = joined(folder, entry.name);
    const record = await readRecord(at, 'session_invalid', folder, entry, EVENT_FORMAT);
    if (record === null) break;
    try {
      reader.take(recordToText(record));
    } catch (fault) {
      at.findings.add('session_invalid', path, (fault as { field?: string }).field ?? null);
      break;
    }
    if (entry.name !== recordName(record.sequence)) at.findings.add('entry_unexpected', path);
    records.push(record);
  }
  const first = records[0]?.event;
  if (first?.type === 'session.started' && first.definition !== definitionDigest(definition)) {
    at.findings.add('session_invalid', joined(at.folder, DEFINITION), 'definition');
  }
  return records;
}

/** An answer may be recorded and not yet be in the log; one that is in the log is recorded, and its calls have its arguments. */
async function readRounds(at: Place, { session }: SessionDefinition, records: readonly SessionRecord[]): Promise<void> {
  const folder = joined(at.folder, 'rounds');
  const rounds = new Map<string, RoundRecord>();
  for (const entry of sorted(await at.view.list(folder))) {
    const record = await readRecord(at, 'session_invalid', folder, entry, ROUND_FORMAT);
    if (record === null) continue;
    if (record.session !== session || entry.name !== roundName(record.turn, record.round)) {
      at.findings.add('session_invalid', joined(folder, entry.name), 'session_id');
    }
    rounds.set(entry.name, record);
  }
  for (const { event } of records) {
    if (event.type !== 'message.assistant') continue;
    const name = roundName(event.turn, event.round);
    const recorded = rounds.get(name);
    const fault = recorded === undefined ? 'missing' : differing(recorded, event);
    if (fault !== null) at.findings.add('session_invalid', joined(folder, name), fault);
  }
  for (const { event, sequence } of records) {
    if (event.type !== 'tool.requested') continue;
    const { turn, round, index } = callPlace(event.callId);
    const asked = rounds.get(roundName(turn, round))?.calls[index];
    if (asked === undefined || asked.argsDigest === event.argsDigest) continue;
    at.findings.add('session_invalid', joined(at.folder, `events/${recordName(sequence)}`), 'args_digest');
  }
}

/** The field of an answer that the log tells otherwise. */
function differing({ text, calls, usage, stop }: RoundRecord, told: SessionBodies['message.assistant']): string | null {
  if (text !== told.message) return 'text';
  if (JSON.stringify(calls) !== JSON.stringify(told.calls)) return 'calls';
  if (usage.input !== told.inputTokens || usage.output !== told.outputTokens) return 'tokens';
  return stop === told.stop ? null : 'stop';
}

/** What the policy of a session demands for one call. */
export async function readDemands(
  view: JournalView,
  findings: Findings,
  run: string,
  plan: { readonly runId: string; readonly planDigest: string } | null,
): Promise<void> {
  const folder = joined(run, 'demands');
  for (const [index, entry] of sorted(await view.list(folder)).entries()) {
    const demand = await readRecord({ view, findings }, 'demand_invalid', folder, entry, DEMAND_FORMAT);
    const foreign = plan !== null && (demand?.runId !== plan.runId || demand.planDigest !== plan.planDigest);
    if (demand !== null && (foreign || entry.name !== demandName(index + 1))) {
      findings.add('demand_invalid', joined(folder, entry.name), foreign ? 'plan_digest' : 'name');
    }
  }
}

function sorted(entries: readonly Entry[] | null): readonly Entry[] {
  return [...(entries ?? [])].sort((one, other) => (one.name < other.name ? -1 : 1));
}
