/**
 * The chains that a history proves. Invariant: a digest counts as proven only when it was derived here from the plan and the
 * witnesses that the history itself holds; what the history merely claims proves nothing.
 */
import { defaultPayloadConverter, type DataConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import {
  BEGIN_ACTIVITY,
  DRIVE_ACTIVITY,
  firstDrive,
  type BeginRequest,
  type BegunCall,
  type DriveRequest,
  type DriveResult,
} from '../activities/contract';
import { ChainKeeper } from '../workflows/chain-keeper';
import type { KnownHead } from '../workflows/messages';
import { REPORT_SIGNAL } from '../activities/tool-contract';
import type { CallReport } from '../workflows/queue-messages';

/** One event in the JSON form of a history. */
export interface HistoryEventJson {
  readonly eventId: string;
  readonly eventType: string;
  readonly [attributes: string]: unknown;
}

/** A history in the JSON form that Temporal's own tools write. */
export interface HistoryJson {
  readonly events: readonly HistoryEventJson[];
}

/** One lineage as one history knows it. */
export interface ProvenChain {
  readonly runId: string;
  readonly lineage: number;
  readonly journalId: string | null;
  /** Digests by sequence; a continued run may know a later one before it has seen those in between. */
  readonly digests: ReadonlyMap<number, string>;
}

export interface ChainReading {
  readonly chains: readonly ProvenChain[];
  readonly problems: readonly string[];
}

interface WirePayloads {
  readonly payloads?: readonly { readonly metadata?: Readonly<Record<string, string>>; readonly data?: string }[];
}
type Attributes = Readonly<Record<string, unknown>>;

export async function readChains(history: HistoryJson, converter: DataConverter | undefined): Promise<ChainReading> {
  const decode = decoder(converter);
  const scheduled = new Map<string, Scheduled>();
  const open = new Map<string, OpenChain>();
  const reported = new Map<string, DriveResult[]>();
  const problems: string[] = [];
  for (const event of history.events) {
    try {
      const report = await heardReport(event, decode);
      if (report !== null) reported.set(report.runId, [...(reported.get(report.runId) ?? []), report.result]);
      const asked = await scheduledDrive(event, decode);
      if (asked !== null) scheduled.set(event.eventId, asked);
      const completed = await completedDrive(event, scheduled, decode);
      if (completed === null) continue;
      const id = completed.request.run_id;
      const chain = open.get(id) ?? new OpenChain(completed.request);
      open.set(id, chain);
      chain.take(completed, reported.get(id) ?? []);
    } catch (fault) {
      problems.push(`event ${event.eventId}: ${(fault as Error).message}`);
    }
  }
  const known = await knownAtStart(history, decode);
  if (known !== null) open.get(known.runId)?.remember(known.head);
  return { chains: [...open.values()].flatMap((chain) => chain.proven()), problems };
}

/** One run: its lineages follow from each other, so one keeper derives them all. */
class OpenChain {
  private keeper: ChainKeeper;
  private readonly lineages = new Map<number, Map<number, string>>();
  private journalId: string | null;

  constructor(private readonly first: DriveRequest) {
    this.keeper = new ChainKeeper(first.plan, null);
    this.journalId = first.journal_id;
  }

  /** `reported`: what the queue of a tool said of the run, each from the first checkpoint on. */
  take({ request, result }: { request: DriveRequest; result: DriveResult }, reported: readonly DriveResult[]): void {
    const { expected_head: expected, lineage } = request;
    // An author may ask for the same call again: that one starts from nothing.
    if (expected === null) this.keeper = new ChainKeeper(request.plan, null);
    else {
      if (this.keeper.expectedHead?.digest !== expected.digest) this.hear(request, expected.digest, reported);
      this.of(lineage).set(expected.sequence, expected.digest);
    }
    this.keeper.accept(result);
    this.journalId ??= this.keeper.journalId;
    for (const [index, digests] of this.keeper.lineages.entries()) {
      for (const [sequence, digest] of digests.entries()) this.of(index + 1).set(sequence, digest);
    }
  }

  /** The report after which the workflow stood at this head. */
  private hear({ plan }: DriveRequest, digest: string, reported: readonly DriveResult[]): void {
    const said = reported.find(({ head }) => head?.digest === digest);
    if (said === undefined) return;
    this.keeper = new ChainKeeper(plan, null);
    this.keeper.accept(said);
  }

  remember({ lineage = 1, sequence, digest, journal_id: journalId }: KnownHead): void {
    if (this.keeper.lineages[lineage - 1]?.[sequence] === undefined) this.of(lineage).set(sequence, digest);
    this.journalId = journalId;
  }

  proven(): readonly ProvenChain[] {
    const { journalId } = this;
    const { run_id: runId } = this.first;
    return [...this.lineages].map(([lineage, digests]) => ({ runId, lineage, journalId, digests }));
  }

  private of(lineage: number): Map<number, string> {
    const digests = this.lineages.get(lineage) ?? new Map<number, string>();
    this.lineages.set(lineage, digests);
    return digests;
  }
}

type Decode = (wire: unknown) => Promise<unknown>;

type Scheduled = { readonly drive: DriveRequest } | { readonly begin: BeginRequest };

async function scheduledDrive(event: HistoryEventJson, decode: Decode): Promise<Scheduled | null> {
  const attributes = event['activityTaskScheduledEventAttributes'] as Attributes | undefined;
  const type = (attributes?.['activityType'] as { name?: string } | undefined)?.name;
  if (type === DRIVE_ACTIVITY) return { drive: (await decode(attributes?.['input'])) as DriveRequest };
  if (type === BEGIN_ACTIVITY) return { begin: (await decode(attributes?.['input'])) as BeginRequest };
  return null;
}

async function completedDrive(
  event: HistoryEventJson,
  scheduled: ReadonlyMap<string, Scheduled>,
  decode: Decode,
): Promise<{ request: DriveRequest; result: DriveResult } | null> {
  const attributes = event['activityTaskCompletedEventAttributes'] as Attributes | undefined;
  const asked = scheduled.get(String(attributes?.['scheduledEventId']));
  if (asked === undefined) return null;
  const result = await decode(attributes?.['result']);
  if ('drive' in asked) return { request: asked.drive, result: result as DriveResult };
  const { answer, driven } = result as BegunCall;
  if (driven === null || answer === null || !('plan' in answer)) return null;
  return { request: firstDrive(asked.begin, answer), result: driven };
}

/** A call through a tool's queue is driven there, and its session hears of it. */
async function heardReport(
  event: HistoryEventJson,
  decode: Decode,
): Promise<{ readonly runId: string; readonly result: DriveResult } | null> {
  const attributes = event['workflowExecutionSignaledEventAttributes'] as Attributes | undefined;
  if (attributes?.['signalName'] !== REPORT_SIGNAL) return null;
  const report = (await decode(attributes['input']).catch(() => null)) as Partial<CallReport> | null;
  if (typeof report?.run_id !== 'string' || !isObject(report.result)) return null;
  return { runId: report.run_id, result: report.result };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** What an earlier run of the same workflow handed on. */
async function knownAtStart(history: HistoryJson, decode: Decode): Promise<{ runId: string; head: KnownHead } | null> {
  const started = history.events[0]?.['workflowExecutionStartedEventAttributes'] as Attributes | undefined;
  try {
    const input = (await decode(started?.['input'])) as { plan?: { run_id?: unknown }; known?: KnownHead } | null;
    const runId = input?.plan?.run_id;
    if (typeof runId !== 'string' || typeof input?.known?.digest !== 'string') return null;
    return { runId, head: input.known };
  } catch {
    return null; // an author's own input, of whatever form
  }
}

function decoder(converter: DataConverter = {}): Decode {
  const { payloadConverter } =
    converter.payloadConverterPath === undefined ? DEFAULT : loaded(converter.payloadConverterPath);
  const codecs = [...(converter.payloadCodecs ?? [])].reverse();
  return async (wire) => {
    const [first] = (wire as WirePayloads | null | undefined)?.payloads ?? [];
    if (first === undefined) return null;
    let payloads: Payload[] = [fromWire(first)];
    for (const codec of codecs) payloads = await codec.decode(payloads);
    try {
      return payloadConverter.fromPayload(payloads[0] as Payload);
    } catch (cause) {
      throw new Error('a payload cannot be read; pass the data converter that wrote this history', { cause });
    }
  };
}

const DEFAULT = { payloadConverter: defaultPayloadConverter };

function loaded(file: string): { payloadConverter: PayloadConverter } {
  // The SDK loads a converter in the same way, by its path.
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  return require(file) as { payloadConverter: PayloadConverter };
}

function fromWire(wire: { readonly metadata?: Readonly<Record<string, string>>; readonly data?: string }): Payload {
  const metadata = Object.entries(wire.metadata ?? {}).map(([name, text]) => [name, bytes(text)] as const);
  return { metadata: Object.fromEntries(metadata), data: bytes(wire.data ?? '') };
}

const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'));
