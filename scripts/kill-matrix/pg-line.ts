/**
 * The line to a real PostgreSQL, which knows where a message begins and ends. A write is a transaction that claims a key in the
 * ledger; its fault strikes its COMMIT.
 *
 * Invariant: look-ups pass, although they end by a COMMIT as well. For a late commit the server's own limits are taken out of the
 * transaction on its way: the sink sets them, so that by itself a COMMIT can never come later than its client gives up.
 */
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { ledgerTables } from '../../src/adapters/sinks/effect-ledger';
import { lockOf } from '../../src/adapters/sinks/ledger-transaction';
import { type CellFault, type CellSink } from './cell-sink';
import { type Line } from './http-line';
import { Cut, keyIn, StruckWrites, type SinkReply } from './struck-writes';

const CLAIM = `INSERT INTO ${ledgerTables().effect} `;
const LIMIT = /(set_config\('[a-z_]*timeout', )'\d+'/g;

export interface PgLine extends Line {
  sink(writesOf: (key: string) => Promise<number>): CellSink;
}

export async function openPgLine(target: number): Promise<PgLine> {
  const writes = new StruckWrites('postgres');
  /** Locks of the keys whose transactions must outlive their clients. */
  const unlimited = new Set<string>();
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
    }
    new Link(client, upstream, writes, (text) => [...unlimited].some((lock) => text.includes(`xact_lock(${lock})`)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const programme = (fault: CellFault): void => {
    if (fault.fault === 'late_commit') unlimited.add(lockOf(fault.key));
    writes.programme(fault);
  };
  return {
    port: (server.address() as AddressInfo).port,
    writes,
    sink: (writesOf) => writes.sink(writesOf, programme),
    close: () => {
      writes.close();
      for (const socket of open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

class Link {
  #pending = Buffer.alloc(0);
  #started = false;
  #forwarding = false;
  #claiming = false;
  #write: { readonly key: string; readonly settled: () => void } | null = null;
  #committing = false;
  #answered: ((answer: Buffer) => void) | null = null;

  constructor(
    readonly client: Socket,
    readonly upstream: Socket,
    readonly writes: StruckWrites,
    readonly isUnlimited: (text: string) => boolean,
  ) {
    client.on('data', (chunk: Buffer) => {
      this.#pending = Buffer.concat([this.#pending, chunk]);
      void this.#forward();
    });
    client.on('close', () => {
      if (!this.#committing) upstream.destroy();
    });
    upstream.on('data', (chunk: Buffer) => {
      if (this.#answered === null) client.write(chunk);
      else this.#answered(chunk);
    });
    upstream.on('close', () => {
      client.destroy();
      this.#end();
    });
  }

  async #forward(): Promise<void> {
    if (this.#forwarding) return;
    this.#forwarding = true;
    for (let message = this.#next(); message !== null; message = this.#next()) await this.#pass(message);
    this.#forwarding = false;
  }

  /** The next whole message, or null. The very first has no letter before its length. */
  #next(): Buffer | null {
    const head = this.#started ? 1 : 0;
    if (this.#pending.length < head + 4) return null;
    const length = head + this.#pending.readInt32BE(head);
    if (this.#pending.length < length) return null;
    const message = this.#pending.subarray(0, length);
    this.#pending = this.#pending.subarray(length);
    return message;
  }

  async #pass(message: Buffer): Promise<void> {
    const kind = this.#started ? String.fromCharCode(message[0] ?? 0) : 'startup';
    this.#started = true;
    const text = message.toString('latin1');
    if (kind === 'Q') {
      const query = text.slice(5, -1);
      if (query === 'COMMIT' && this.#write !== null) return this.#commit(message, this.#write);
      if (query === 'ROLLBACK') this.#end();
      if (this.isUnlimited(query)) return void this.upstream.write(asQuery(query.replace(LIMIT, "$1'0'")));
    }
    if (kind === 'P') this.#claiming = text.includes(CLAIM);
    if (kind === 'B' && this.#claiming) {
      const key = keyIn(text);
      if (key !== null) this.#write = { key, settled: this.writes.begun(key) };
      this.#claiming = false;
    }
    this.upstream.write(message);
  }

  async #commit(message: Buffer, { key }: { readonly key: string }): Promise<void> {
    this.#committing = true;
    try {
      this.client.write(await this.writes.carryOut(key, () => this.#ask(message)));
    } catch (fault) {
      if (!(fault instanceof Cut)) throw fault;
      this.client.destroy();
      this.upstream.destroy();
    } finally {
      this.#committing = false;
      this.#end();
      if (this.client.destroyed) this.upstream.destroy();
    }
  }

  /** The server's answer to one message; `Cut` when it hangs up instead. */
  #ask(message: Buffer): Promise<SinkReply<Buffer>> {
    return new Promise<SinkReply<Buffer>>((resolve, reject) => {
      if (this.upstream.destroyed) return reject(new Cut());
      this.upstream.once('close', () => reject(new Cut()));
      this.#answered = (reply) => resolve({ reply, committed: reply.includes('COMMIT\0') });
      this.upstream.write(message);
    }).finally(() => (this.#answered = null));
  }

  #end(): void {
    if (this.#committing) return;
    this.#write?.settled();
    this.#write = null;
  }
}

function asQuery(query: string): Buffer {
  const body = Buffer.from(`${query}\0`, 'latin1');
  const head = Buffer.alloc(5, 'Q');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
