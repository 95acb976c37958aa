/**
 * What the author of a sink gives to the kit: how to make operations, how to look behind the adapter's back, and where the sink is.
 *
 * Invariant: everything here speaks to the sink directly, never through the adapter, so that it can contradict it.
 */
import type { EffectSink, SinkItem } from '../../ports';
import type { SinkFault } from './promises';

/** Where the sink really is. The kit puts its own proxy before it. */
export type SinkTarget =
  /** An HTTP service (without TLS). The kit also speaks HTTP to bring about faults of meaning. */
  | { readonly url: string }
  /** Any protocol over TCP. */
  | { readonly host?: string; readonly port: number }
  /** A child process that is spoken to through its standard input and output, over and over. */
  | { readonly command: string; readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> };

/** Where an adapter that is made for one case must go instead. Reading what the target does not have throws. */
export interface Reach {
  readonly host: string;
  readonly port: number;
  /** The target's address with the kit's own origin. */
  readonly url: string;
  /** The command that stands for the target's. */
  readonly stdio: { readonly command: string; readonly args: readonly string[] };
}

/** Makes one adapter as one worker would: with its own client and its own connections. */
export type MakeSink = (reach: Reach) => EffectSink | Promise<EffectSink>;

/** Writes of one key as the sink itself counts them. */
export type CountWrites = (item: SinkItem) => number | Promise<number>;

/** How the kit makes operations, counts what the sink really holds, and reaches it; times are in milliseconds. */
export interface SinkFixture {
  /** Absent: the adapter is reached by no line that the kit can cut, and `line` is not given either. */
  readonly target?: SinkTarget;
  /** For sinks that are reached by no connection: brings about the faults of a line in another way. @default the kit's TCP proxy */
  readonly line?: FaultLine;
  /**
   * An operation that the sink takes. Different texts make different operations, and the text stands in the operation
   * somewhere as content, so that the kit can see where it leaks.
   */
  operation(text: string): unknown;
  /** An operation that the sink itself refuses. Absent: it refuses none. */
  refused?(text: string): unknown;
  /** How many writes the sink really holds under this key, whatever their digest. */
  writes: CountWrites;
  /** @default 'tool:conformance.example/write@1.0.0' */
  readonly toolId?: string;
  /** Credentials that the adapter was given, so that the kit can see where they leak. */
  readonly secrets?: readonly string[];
  /** Makes a second write of the same operation under the same key. Absent: no second one can be made. */
  duplicate?(item: SinkItem): Promise<void>;
  /** Makes the sink forget the key, as after its horizon. Absent: keys are kept for ever, or cannot be aged. */
  forget?(item: SinkItem): Promise<void>;
  /** Faults that make no sense for this sink, and why. They are reported, never counted as passed. */
  readonly except?: Partial<Record<ExceptableFault, string>>;
  /** What one call may take when it is bound to fail, in milliseconds. @default 1500 */
  readonly patienceMs?: number;
  /** How long after its deadline a call may end. Generous: this is no measurement of speed. @default 5000 */
  readonly marginMs?: number;
  /** Ends what the fixture started. */
  close?(): Promise<void>;
}

/** Faults that a fixture may except. The others hold for every sink. */
export const EXCEPTABLE = [
  'lost_request',
  'reset',
  'lost_reply',
  'cut_anywhere',
  'late_commit',
  'late_original',
  'lookup_timeout',
  'lookup_lost',
  'slow_drip',
  'wrong_digest',
  'status_400',
  'status_409',
  'status_412',
  'status_429',
  'status_5xx',
  'redirect',
  'lookup_error',
  'lookup_gateway',
  'lookup_garbage',
  'ignored_filter',
  'stale_read',
] as const satisfies readonly SinkFault[];
/** One of those. */
export type ExceptableFault = (typeof EXCEPTABLE)[number];

/** What a line can do to the calls that cross it. `stall`, `drip` and `hold` last until they are released. */
export const LINE_FAULTS = ['lose', 'reset', 'lose_reply', 'hold', 'stall', 'drip'] as const;
/** One of `LINE_FAULTS`. */
export type LineFault = (typeof LINE_FAULTS)[number];

/** One fault on its way. */
export interface Strike {
  /** Whether it has happened yet. */
  readonly struck: boolean;
  /** Whether the sink has answered what was let go. */
  readonly answered: boolean;
  /** Lets go what was held, stalled or slowed, whether or not the client is still there. */
  release(): void;
}

/** A line between adapter and sink. */
export interface FaultLine {
  /**
   * The next call meets this fault. `written` tells whether the sink holds its write by now. `null`: this line cannot do it.
   * @param written for `lose_reply` and `hold`
   */
  arm(fault: LineFault, written: () => Promise<boolean>): Strike | null;
  /** Nothing more goes wrong; what is held is let go. */
  clear(): void;
}
