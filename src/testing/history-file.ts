/**
 * Recorded histories: JSON files as `temporal workflow show --output json` writes them. Invariant: what is read back is what
 * the server gave, and every history knows the id of its workflow, because digests and child ids derive from it.
 */
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { historyFromJson, historyToJson, type History, type HistoryJson } from './history-json';

/** A history to replay: as fetched by a client or as read from JSON. */
export interface RecordedHistory {
  /** @default the id that the history's first event names */
  readonly workflowId?: string;
  readonly history: unknown;
}

/** One history in both of its forms. */
export interface ReadableHistory {
  readonly workflowId: string;
  readonly history: History;
  readonly json: HistoryJson;
}

/** Fetches one history and writes it to a file that `replayAndVerify` and every other replayer of Temporal reads. */
export async function recordHistory(client: Client, workflowId: string, file: string, runId?: string): Promise<void> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(historyToJson(history), null, 1)}\n`);
}

/** Every `*.json` file directly in a folder, by name. A file that is no JSON is answered without a history. */
export async function* historiesIn(folder: string): AsyncGenerator<RecordedHistory & { readonly file: string }> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  for (const file of names) {
    const text = await readFile(path.join(folder, file), 'utf8');
    yield { file, history: parsed(text) };
  }
}

/** Throws a `TypeError` that says what is missing. */
export function readHistory({ workflowId, history }: RecordedHistory): ReadableHistory {
  const events = (history as { events?: unknown } | null | undefined)?.events;
  if (!Array.isArray(events) || events.length === 0) {
    throw new TypeError(
      'this is no history: it has no events; record it with recordHistory or "temporal workflow show"',
    );
  }
  const [first] = events as { eventId?: unknown }[];
  const isJson = typeof first?.eventId === 'string';
  const json = isJson ? (history as HistoryJson) : historyToJson(history as History);
  const id = workflowId ?? workflowIdIn(json);
  if (id === null) throw new TypeError('this history names no workflow id; give it beside the history');
  return { workflowId: id, json, history: isJson ? historyFromJson(json) : (history as History) };
}

function workflowIdIn({ events }: HistoryJson): string | null {
  const started = events[0]?.['workflowExecutionStartedEventAttributes'] as { workflowId?: unknown } | undefined;
  return typeof started?.workflowId === 'string' && started.workflowId !== '' ? started.workflowId : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
