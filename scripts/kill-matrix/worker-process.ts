/**
 * One worker as a process of its own. Invariant: what it passes is known line by line, in its order, also after its death.
 */
import { Child, type Exit } from './child';
import type { WorkerEvent, WorkerOrders } from './worker-orders';

/** For what Temporal's own time-outs bring about at last. */
const PATIENCE_MS = 120_000;

export class WorkerProcess {
  private readonly child: Child;

  constructor(program: string, orders: WorkerOrders, log: number) {
    this.child = new Child(program, [JSON.stringify(orders)], log);
  }

  get pid(): number {
    return this.child.pid;
  }

  get exited(): Promise<Exit> {
    return this.child.exited;
  }

  /** The `nth` time of an event, past or to come. */
  async passes(event: WorkerEvent, nth = 1): Promise<void> {
    const line = JSON.stringify({ event });
    await this.child.line((said) => said === line, nth, `${event} ${nth}`, PATIENCE_MS);
  }

  /** Its ordered moment killed it. */
  async killedItself(): Promise<void> {
    await this.passes('struck');
    const { signal } = await this.exited;
    if (signal !== 'SIGKILL') throw new Error('a worker ended otherwise than by SIGKILL');
  }

  /** Lets a process go on that stands by, or that its ordered moment made wait. */
  proceed(): void {
    this.child.write('go');
  }

  /** SIGCONT. */
  resume(): void {
    this.child.signal('SIGCONT');
  }

  kill(): Promise<Exit> {
    return this.child.kill();
  }
}
