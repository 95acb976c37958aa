/**
 * Histories as JSON, in the form that Temporal's own tools write. Invariant: there and back again is the same history, and no
 * field is lost on the way to JSON.
 *
 * The SDK has these two conversions as well, but its own refuse every history ("type must be a Type") where npm installs
 * protobufjs twice, as it does beside `@grpc/grpc-js`. These need only `@temporalio/proto`.
 */
import { temporal } from '@temporalio/proto';
import type { HistoryJson } from '../verify/history-chain';

export type { HistoryEventJson, HistoryJson } from '../verify/history-chain';

export type History = temporal.api.history.v1.IHistory;

/** What of protobufjs' reflection is used here; it is there at run time but not in the generated types. */
interface MessageType {
  readonly fullName: string;
  readonly fields?: Readonly<Record<string, Field>>;
  toObject(message: unknown, options: Record<string, unknown>): unknown;
  fromObject(object: unknown): unknown;
}
interface Field {
  readonly map: boolean;
  readonly resolvedType: MessageType | null;
  resolve(): Field;
}
type Scalars = Readonly<Record<string, (value: never) => unknown>>;

const HISTORY = temporal.api.history.v1.History as unknown as MessageType;

export function historyToJson(history: History): HistoryJson {
  const object = HISTORY.toObject(history, { longs: String, enums: String, bytes: String });
  return walk(HISTORY, object, TO_JSON) as HistoryJson;
}

export function historyFromJson(json: HistoryJson): History {
  return HISTORY.fromObject(walk(HISTORY, json, FROM_JSON)) as History;
}

interface Time {
  readonly seconds?: string;
  readonly nanos?: number;
}

const TO_JSON: Scalars = {
  '.google.protobuf.Timestamp': ({ seconds = '0', nanos = 0 }: Time) =>
    `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}${fraction(nanos)}Z`,
  '.google.protobuf.Duration': ({ seconds = '0', nanos = 0 }: Time) => `${seconds}${fraction(nanos)}s`,
};

const FROM_JSON: Scalars = {
  '.google.protobuf.Timestamp': (text: string): Time => ({
    seconds: String(Math.floor(Date.parse(text) / 1000)),
    nanos: nanosOf(text),
  }),
  '.google.protobuf.Duration': (text: string): Time => ({
    seconds: /^\d+/.exec(text)?.[0] ?? '0',
    nanos: nanosOf(text),
  }),
};

const fraction = (nanos: number): string => (nanos === 0 ? '' : `.${String(nanos).padStart(9, '0')}`);
const nanosOf = (text: string): number => Number((/\.(\d{1,9})/.exec(text)?.[1] ?? '').padEnd(9, '0'));

/** Converts every message of a type in `scalars`, wherever it stands. Fields that this SDK does not know stay as they are. */
function walk(type: MessageType, value: unknown, scalars: Scalars): unknown {
  const scalar = scalars[type.fullName] as ((value: unknown) => unknown) | undefined;
  if (scalar !== undefined) return scalar(value);
  if (typeof value !== 'object' || value === null) return value;
  const each = (of: MessageType, item: unknown): unknown =>
    Array.isArray(item) ? item.map((one: unknown) => walk(of, one, scalars)) : walk(of, item, scalars);
  const entries = Object.entries(value).map(([name, item]: [string, unknown]) => {
    const field = type.fields?.[name]?.resolve();
    const of = field?.resolvedType;
    if (field === undefined || of?.fields === undefined || item === null) return [name, item] as const;
    if (!field.map) return [name, each(of, item)] as const;
    const inner = Object.entries(item as object).map(([key, one]: [string, unknown]) => [key, walk(of, one, scalars)]);
    return [name, Object.fromEntries(inner) as unknown] as const;
  });
  return Object.fromEntries(entries);
}
