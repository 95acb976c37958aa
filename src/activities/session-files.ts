/**
 * One session in the journal. Invariant: nothing is ever overwritten; an event stands behind the one whose digest it names, and a
 * round has one answer, whoever was first.
 *
 *   <session run>/definition.json              what the session is
 *   <session run>/events/%020d.json            its log, a hash chain
 *   <session run>/rounds/<turn>-<round>.json   each answer of the model
 */
import { sessionRunId } from '../rules/invocations/names';
import {
  chained,
  recordDigest,
  recordFromBytes,
  recordName,
  type LogHead,
  type SessionRecord,
  type TimedEvent,
} from '../rules/invocations/session-record';
import { Refusal } from '../rules/refusal';
import { definitionFromBytes, definitionToText, type SessionDefinition } from '../rules/sessions/definition-record';
import { roundFromBytes, roundName, roundToText, type RoundRecord } from '../rules/sessions/round-record';
import type { Entries, Entry } from './entries';
import type { Journal } from './journal';

/** Events that are read at once. */
const SIDE_BY_SIDE = 32;

/** Whether a run is a session; `names` as `Store.list` gives them. */
export function isSession(names: readonly string[]): boolean {
  return names.some((name) => ['definition.json', 'events/', 'rounds/'].includes(name));
}

/** The name of the session that a run is. */
export async function sessionOf({ entries }: Pick<Journal, 'entries'>, runId: string): Promise<string> {
  const path = `${runId}/definition.json`;
  const definition = await entries.read(path, definitionFromBytes);
  if (definition !== null && sessionRunId(definition.session) === runId) return definition.session;
  throw new Refusal('journal_invalid', 'does not say which session this is', path);
}

export class SessionFiles {
  private readonly folder: string;

  constructor(
    private readonly entries: Entries,
    private readonly session: string,
  ) {
    this.folder = sessionRunId(session);
  }

  async definition(): Promise<SessionDefinition> {
    const definition = await this.entries.read(`${this.folder}/definition.json`, definitionFromBytes);
    if (definition !== null) return definition;
    throw new Refusal('journal_invalid', 'does not say what this session is', `${this.folder}/definition.json`);
  }

  /** The log behind `head`, in order, each record checked against the one before. */
  async events(head: LogHead | null): Promise<readonly SessionRecord[]> {
    const folder = `${this.folder}/events`;
    const names = await this.entries.list(folder, head === null ? undefined : recordName(head.sequence));
    const found: SessionRecord[] = [];
    let last = head;
    for (let from = 0; from < names.length; from += SIDE_BY_SIDE) {
      const batch = names.slice(from, from + SIDE_BY_SIDE);
      const read = batch.map((name) => this.entries.mustRead(`${folder}/${name}`, recordFromBytes));
      for (const record of await Promise.all(read)) {
        const { sessionId, sequence, previous } = record;
        const follows = sequence === (last?.sequence ?? 0) + 1 && previous === (last?.digest ?? null);
        if (!follows || sessionId !== this.session) {
          throw new Refusal(
            'journal_invalid',
            'does not follow from the event before it',
            `${folder}/${recordName(sequence)}`,
          );
        }
        found.push(record);
        last = { sequence, digest: recordDigest(record) };
      }
    }
    return found;
  }

  /** Puts events behind `head`, in order; the first go says what the session is, too. `overtaken`: somebody else has written there. */
  async append(
    head: LogHead | null,
    events: readonly TimedEvent[],
    definition: SessionDefinition | null,
  ): Promise<LogHead | 'overtaken'> {
    const records = chained(this.session, head, events);
    const before: Entry[] = [];
    if (definition !== null) before.push([`${this.folder}/definition.json`, definitionToText(definition)]);
    const entries = records.map(({ record, text }): Entry => [
      `${this.folder}/events/${recordName(record.sequence)}`,
      text,
    ]);
    const outcomes = await this.entries.createInOrder([...before, ...entries]);
    if (definition !== null && outcomes[0] === 'conflict') {
      throw new Refusal(
        'record_conflict',
        'a session of this name is known as another agent; use another name',
        'session_id',
      );
    }
    const last = records.at(-1);
    if (outcomes.includes('conflict') || last === undefined) return 'overtaken';
    return { sequence: last.record.sequence, digest: last.digest };
  }

  round(turn: number, round: number): Promise<RoundRecord | null> {
    return this.entries.read(this.roundPath(turn, round), roundFromBytes);
  }

  /** The answer that counts: this, or the one that was there before. */
  async settleRound(record: RoundRecord): Promise<{ readonly record: RoundRecord; readonly first: boolean }> {
    const outcome = await this.entries.settle(this.roundPath(record.turn, record.round), roundToText(record));
    if (outcome !== 'conflict') return { record, first: true };
    return { record: (await this.round(record.turn, record.round)) ?? record, first: false };
  }

  /** Every answer that is recorded, in order. */
  async rounds(): Promise<readonly RoundRecord[]> {
    const names = await this.entries.list(`${this.folder}/rounds`);
    const records: RoundRecord[] = [];
    for (const name of names)
      records.push(await this.entries.mustRead(`${this.folder}/rounds/${name}`, roundFromBytes));
    return records;
  }

  private roundPath(turn: number, round: number): string {
    return `${this.folder}/rounds/${roundName(turn, round)}`;
  }
}
