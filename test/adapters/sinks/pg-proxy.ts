/**
 * A proxy in front of a PostgreSQL server that knows where a message begins and ends: it holds the message that a test names,
 * and passes it on when told, whether or not its client still lives; or it lets the server answer and keeps the answer.
 */
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';

export interface HeldMessage {
  /** Passes it on to the server, and everything after it. */
  pass(): void;
  /** Passes it on and waits for the server's answer, which nobody gets: both connections are then cut. */
  passAndKeepAnswer(): Promise<void>;
  /** Cuts both connections; the server never gets it. */
  drop(): void;
}

export interface PgProxy {
  readonly port: number;
  /**
   * The next message that contains `text`, held until it is passed or dropped; with `after`, the next one that comes on a
   * connection behind a message that contains that.
   */
  held(text: string, after?: string): Promise<HeldMessage>;
  close(): Promise<void>;
}

interface Waiting {
  readonly text: string;
  readonly after: string | undefined;
  readonly arrived: (held: HeldMessage) => void;
}

export async function startPgProxy(target: number): Promise<PgProxy> {
  const waiting: Waiting[] = [];
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    }
    new Connection(client, upstream, waiting);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    held: (text, after) => new Promise((arrived) => waiting.push({ text, after, arrived })),
    close: () => {
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

class Connection {
  private pending = Buffer.alloc(0);
  private started = false;
  private holding = false;
  private keepAnswer: (() => void) | null = null;
  private readonly due = new WeakSet<Waiting>();

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket,
    private readonly waiting: Waiting[],
  ) {
    client.on('data', (chunk: Buffer) => {
      this.pending = Buffer.concat([this.pending, chunk]);
      this.forward();
    });
    client.on('close', () => {
      if (!this.holding) upstream.destroy();
    });
    upstream.on('data', (chunk: Buffer) => {
      if (this.keepAnswer === null) return void client.write(chunk);
      this.cut();
      this.keepAnswer();
    });
    upstream.on('close', () => client.destroy());
  }

  private forward(): void {
    while (!this.holding) {
      const head = this.started ? 1 : 0;
      if (this.pending.length < head + 4) return;
      const length = head + this.pending.readInt32BE(head);
      if (this.pending.length < length) return;
      const message = this.pending.subarray(0, length);
      this.pending = this.pending.subarray(length);
      this.started = true;
      const text = message.toString('latin1');
      const at = this.waiting.findIndex((wanted) => {
        const due = wanted.after === undefined || this.due.has(wanted);
        if (!due && text.includes(wanted.after as string)) this.due.add(wanted);
        return due && text.includes(wanted.text);
      });
      const [wanted] = at < 0 ? [] : this.waiting.splice(at, 1);
      if (wanted === undefined) this.upstream.write(message);
      else this.hold(message, wanted);
    }
  }

  private hold(message: Buffer, { arrived }: Waiting): void {
    this.holding = true;
    const pass = (): void => {
      this.upstream.write(message);
      this.holding = false;
      this.forward();
    };
    arrived({
      pass,
      passAndKeepAnswer: () =>
        new Promise((resolve) => {
          this.keepAnswer = resolve;
          pass();
        }),
      drop: () => this.cut(),
    });
  }

  private cut(): void {
    this.client.destroy();
    this.upstream.destroy();
  }
}
