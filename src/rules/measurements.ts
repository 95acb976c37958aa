/**
 * What is measured of plans, by name. Invariant: this table is all of it; every label is named here and has few values, and none is
 * content or names a run, an effect or a person. Durations are in milliseconds and say so, as no exporter may add the unit.
 */
interface Described {
  readonly name: string;
  readonly kind: 'counter' | 'histogram';
  readonly labels: readonly string[];
  readonly description: string;
}

export const MEASUREMENTS = {
  sends: {
    name: 'countersign_sends',
    kind: 'counter',
    labels: ['tool_id', 'outcome'],
    description: 'Requests that left for a sink, by what is known of them after the look-up that follows.',
  },
  unanswered: {
    name: 'countersign_unknown_outcomes',
    kind: 'counter',
    labels: ['tool_id'],
    description: 'Sends whose own answer says nothing: thrown, past the deadline, or of no known form.',
  },
  sendLatency: {
    name: 'countersign_send_latency_milliseconds',
    kind: 'histogram',
    labels: ['tool_id'],
    description: 'How long a sink took over one send.',
  },
  found: {
    name: 'countersign_found_committed',
    kind: 'counter',
    labels: ['tool_id'],
    description:
      'Effects that a look-up found done and that the finder did not send: each would have been a duplicate.',
  },
  lookUpLatency: {
    name: 'countersign_lookup_latency_milliseconds',
    kind: 'histogram',
    labels: ['tool_id', 'outcome'],
    description: 'How long a sink took over one batch of look-ups, under the tool of its first effect.',
  },
  settleWait: {
    name: 'countersign_settle_wait_milliseconds',
    kind: 'histogram',
    labels: ['cause'],
    description: 'Waits on durable timers: for an earlier send, for a sink that cannot say yet, or to send again.',
  },
  fenced: {
    name: 'countersign_fenced',
    kind: 'counter',
    labels: [],
    description: 'Executions that stopped because another driver has the turn.',
  },
  storeLatency: {
    name: 'countersign_store_latency_milliseconds',
    kind: 'histogram',
    labels: ['store', 'operation', 'outcome'],
    description: 'How long the journal or the content store took over one call.',
  },
  parked: {
    name: 'countersign_parked',
    kind: 'counter',
    labels: ['reason'],
    description: 'Plans that came to wait for a person.',
  },
  parkedAge: {
    name: 'countersign_parked_age_milliseconds',
    kind: 'histogram',
    labels: ['reason'],
    description: 'How long plans had waited for a person when they went on.',
  },
  lost: {
    name: 'countersign_lost_drives',
    kind: 'counter',
    labels: [],
    description: 'Executions that did not come back, so that what they did had to be looked up.',
  },
} as const satisfies Record<string, Described>;

export type Measurement = keyof typeof MEASUREMENTS;

/** The closed values of each label; a tool id is closed by the worker's registry, a reason by `ParkReason`. */
interface LabelValues {
  readonly tool_id: string;
  readonly reason: string;
  readonly cause: 'earlier_send' | 'sink' | 'not_sent';
  readonly store: 'journal' | 'contents';
  readonly operation: 'create' | 'create_in_order' | 'read' | 'list';
}

interface Outcomes {
  readonly sends: 'committed' | 'refused' | 'not_sent' | 'unknown';
  readonly lookUpLatency: 'answered' | 'unknown';
  readonly storeLatency: 'ok' | 'failed';
}

type ValueOf<M, L> = L extends keyof LabelValues ? LabelValues[L] : M extends keyof Outcomes ? Outcomes[M] : never;

export type LabelsOf<M extends Measurement> = {
  readonly [L in (typeof MEASUREMENTS)[M]['labels'][number]]: ValueOf<M, L>;
};
