/**
 * A TCP proxy between adapter and sink that loses, holds, stalls and slows what passes.
 *
 * Invariant: it knows no protocol. It counts turns: a turn begins when the client speaks after the server did. The turn at
 * whose answer the sink's own count of writes has changed is the decisive one; it is learned from a send without a fault.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { FaultLine, LineFault, Strike } from './fixture';

export interface Address {
  readonly host: string;
  readonly port: number;
}

type Direction = 'up' | 'down';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Its end is not passed on: what was held must not be followed by a hang-up that the client made long before. */
  kept: boolean;
}

/** What a fault does with a chunk before it is passed on: when it returns, or what it returns, unless the link was cut. */
type Gate = (chunk: Buffer, direction: Direction, turn: number, link: Link) => Promise<Buffer | void> | void;

/** How long the write of an answered request may take to become visible. */
const VISIBLE_MS = 3_000;
const DRIP_MS = 50;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Where a connection may be cut: before the client's part of a turn, or before the server's. */
export interface Step {
  readonly turn: number;
  readonly direction: Direction;
}

export class FaultProxy implements FaultLine {
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #turn = 0;
  #last: Direction = 'down';
  #gate: Gate | null = null;
  #release: (() => void)[] = [];
  #decisive: number | null = null;

  private constructor(readonly target: Address) {
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#link(client));
  }

  static async start(target: Address): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Turns since the last call was begun. */
  get turns(): number {
    return this.#turn;
  }

  /** A call begins: its turns are counted from one. */
  begin(): void {
    this.#turn = 0;
    this.#last = 'down';
  }

  /** The next call is one without a fault; the turn at whose answer `written` has become true is remembered. */
  learn(written: () => Promise<boolean>): void {
    this.#decisive = null;
    this.begin();
    this.#gate = async (_chunk, direction, turn) => {
      if (direction === 'down' && this.#decisive === null && (await written())) this.#decisive = turn;
    };
  }

  /** The learned decisive turn. A write that only shows after the last answer belongs to the last turn. */
  get decisiveTurn(): number {
    return this.#decisive ?? Math.max(1, this.#turn);
  }

  /** Teaches what another proxy before the same sink has learned. */
  set decisiveTurn(turn: number) {
    this.#decisive = turn;
  }

  arm(fault: LineFault, written: () => Promise<boolean>): Strike {
    this.begin();
    switch (fault) {
      case 'lose':
        return this.cutAt({ turn: 1, direction: 'up' });
      case 'reset':
        return this.cutAt({ turn: 1, direction: 'up' }, true);
      case 'lose_reply':
        return this.#loseReply(written);
      case 'hold':
        return this.#waiting('up', (turn) => turn === this.decisiveTurn);
      case 'stall':
        return this.#waiting('down', () => true);
      case 'drip':
        return this.#drip();
    }
  }

  /** Cuts the next call at one step, once. */
  cutAt(step: Step, reset = false): Strike {
    this.begin();
    const strike = { struck: false, answered: false, release: () => undefined };
    this.#gate = (_chunk, direction, turn, link) => {
      if (strike.struck || turn !== step.turn || direction !== step.direction) return;
      strike.struck = true;
      cut(link, reset);
    };
    return strike;
  }

  #loseReply(written: () => Promise<boolean>): Strike {
    const strike = { struck: false, answered: false, release: () => undefined };
    this.#gate = async (_chunk, direction, turn, link) => {
      if (strike.struck || direction === 'up') return;
      const until = performance.now() + (turn === this.decisiveTurn ? VISIBLE_MS : 0);
      let done = await written();
      while (!done && performance.now() < until) {
        await pause(20);
        done = await written();
      }
      if (!done || strike.struck) return;
      strike.struck = true;
      cut(link, false);
    };
    return strike;
  }

  #waiting(held: Direction, at: (turn: number) => boolean): Strike {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    this.#release.push(release);
    const strike = { struck: false, answered: false, release };
    let holds: Link | null = null;
    this.#gate = async (_chunk, direction, turn, link) => {
      if (direction === 'down' && holds === link) strike.answered = true;
      if (direction !== held || (holds === null && !at(turn)) || (held === 'up' && holds !== null && holds !== link)) {
        return;
      }
      strike.struck = true;
      link.kept = held === 'up';
      holds ??= link;
      await released;
    };
    return strike;
  }

  #drip(): Strike {
    let released = false;
    const release = (): void => void (released = true);
    this.#release.push(release);
    const strike = { struck: false, answered: false, release };
    this.#gate = async (chunk, direction, _turn, link) => {
      if (direction === 'up') return;
      strike.struck = true;
      const going = (): boolean => !released && !link.client.destroyed;
      let passed = 0;
      // Never the last byte, so that the answer stays incomplete until it is let go.
      for (; passed < chunk.length - 1 && going(); passed += 1) {
        link.client.write(chunk.subarray(passed, passed + 1));
        await pause(DRIP_MS);
      }
      while (going()) await pause(DRIP_MS);
      return chunk.subarray(passed);
    };
    return strike;
  }

  clear(): void {
    this.#gate = null;
    for (const release of this.#release.splice(0)) release();
  }

  async close(): Promise<void> {
    this.clear();
    for (const link of this.#links) cut(link, false);
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #link(client: Socket): void {
    const server = connect({ ...this.target, allowHalfOpen: true });
    const link: Link = { client, server, kept: false };
    this.#links.add(link);
    this.#pump('up', client, server, link);
    this.#pump('down', server, client, link);
    server.once('close', () => this.#links.delete(link));
  }

  #pump(direction: Direction, from: Socket, to: Socket, link: Link): void {
    let passing: Promise<void> = Promise.resolve();
    from.setNoDelay(true);
    from.on('data', (chunk: Buffer) => {
      if (direction === 'up' && this.#last === 'down') this.#turn += 1;
      this.#last = direction;
      const turn = this.#turn;
      passing = passing.then(async () => {
        const passed = (await this.#gate?.(chunk, direction, turn, link)) ?? chunk;
        if (!to.destroyed && to.writable) to.write(passed);
      });
    });
    const hangUp = (): void => {
      passing = passing.then(() => {
        if (!link.kept || direction === 'down') to.end();
      });
    };
    from.once('end', hangUp);
    from.once('close', hangUp);
    // A target that cannot be reached is, for the adapter, a connection that is closed at once.
    from.on('error', () => (direction === 'down' ? to.destroy() : undefined));
  }
}

function cut({ client, server }: Link, reset: boolean): void {
  if (reset && !client.destroyed) client.resetAndDestroy();
  else client.destroy();
  server.destroy();
}
