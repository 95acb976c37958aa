/**
 * What a worker process is told when it starts, and what it says while it runs. Invariant: everything passes as one JSON
 * argument in and one JSON line out at a time, written before the process goes on, so that a line that was read is true.
 */
import type { EnginePoint } from '../../src/activities/engine';
import type { SinkName, SinkUrls } from './sinks';

/**
 * A moment of one process: the `nth` time that the engine passes a point, that the sink's own client is called, or that a
 * checkpoint has become visible (`appended`, see `observed-store`).
 */
export interface WorkerMoment {
  readonly at: EnginePoint | 'in_client' | 'appended';
  readonly nth: number;
  /** `kill`: SIGKILL. `stop`: SIGSTOP, until somebody sends SIGCONT. `wait`: until a line comes in. */
  readonly does: 'kill' | 'stop' | 'wait';
}

export interface WorkerOrders {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** The file of a prebuilt workflow bundle. */
  readonly bundle: string;
  /** Addresses of stores. */
  readonly journal: string;
  readonly contents: string;
  readonly sink: SinkName;
  readonly urls: SinkUrls;
  readonly deadlineMs: number;
  readonly moment: WorkerMoment | null;
  /** Do everything but poll, until a line comes in: a worker that is there to take over at once. */
  readonly standby: boolean;
}

/** `standby`: could poll. `ready`: polls. `struck`: the ordered moment has come. Everything else: a point was passed. */
export type WorkerEvent = 'standby' | 'ready' | 'struck' | WorkerMoment['at'];
