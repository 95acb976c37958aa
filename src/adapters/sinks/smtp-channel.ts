/**
 * One connection to an SMTP server: lines out, whole replies in (RFC 5321 §4.2), TLS from the start or by STARTTLS.
 *
 * Invariant: a reply is taken for the answer to a command only when it came after that command was written. What arrives unasked,
 * before it or in the clear before TLS, ends the connection: it could be the answer to something else.
 */
import { isIP, connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { SinkError, type SinkErrorCode, type SinkErrorContext } from './sink-error';

export interface SmtpReply {
  readonly code: number;
  /** The texts of its lines, without their codes. */
  readonly lines: readonly string[];
}

export interface SmtpAddress {
  readonly host: string;
  readonly port: number;
  /** `none` is only taken from a server on this machine. */
  readonly tls: 'implicit' | 'starttls' | 'none';
  /** Certificates of the authorities that are trusted, as PEM. @default those of Node */
  readonly ca?: string | undefined;
}

const LONGEST_REPLY = 64 * 1024;
const LINE = /^(\d{3})(?:([ -])(.*))?$/;
const LOOPBACK = /^(?:127\.|::1$|::ffff:127\.)/;

/** Takes whole replies from the front of what has arrived; null when it is no SMTP. */
function takeReplies(arrived: string): { readonly replies: SmtpReply[]; readonly rest: string } | null {
  const replies: SmtpReply[] = [];
  let rest = arrived;
  let texts: string[] = [];
  let code = '';
  let from = 0;
  for (let end = arrived.indexOf('\n'); end >= 0; end = arrived.indexOf('\n', from)) {
    const match = LINE.exec(arrived.slice(from, end).replace(/\r$/, ''));
    if (!match || (code !== '' && match[1] !== code)) return null;
    code = match[1] ?? '';
    texts.push(match[3] ?? '');
    from = end + 1;
    if (match[2] === '-') continue;
    replies.push({ code: Number(code), lines: texts });
    [texts, code, rest] = [[], '', arrived.slice(from)];
  }
  return { replies, rest };
}

export class SmtpChannel {
  #socket: Socket;
  #arrived = '';
  #replies: SmtpReply[] = [];
  #fault: SinkError | null = null;
  #wake: () => void = () => undefined;

  private constructor(
    private readonly address: SmtpAddress,
    private readonly signal: AbortSignal,
    private readonly context: SinkErrorContext,
  ) {
    const { host, port } = address;
    this.#socket =
      address.tls === 'implicit' ? connectTls({ ...this.#trust(), host, port }) : connectTcp({ host, port });
    signal.addEventListener('abort', this.#abort, { once: true });
    this.#listen();
    if (signal.aborted) this.#abort();
  }

  /** Resolves when the connection stands, encrypted where that comes first. */
  static async open(address: SmtpAddress, signal: AbortSignal, context: SinkErrorContext): Promise<SmtpChannel> {
    const channel = new SmtpChannel(address, signal, context);
    await channel.#connected(address.tls === 'implicit' ? 'secureConnect' : 'connect');
    if (address.tls === 'none' && !LOOPBACK.test(channel.#socket.remoteAddress ?? '')) {
      throw channel.#fail('not_encrypted');
    }
    return channel;
  }

  /** The next reply. */
  async read(): Promise<SmtpReply> {
    for (;;) {
      const reply = this.#replies.shift();
      if (reply) return reply;
      if (this.#fault) throw this.#fault;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async command(line: string): Promise<SmtpReply> {
    this.requireSilence();
    this.#socket.write(`${line}\r\n`, 'latin1');
    return this.read();
  }

  /** Fails when something stands here that nobody has asked for. */
  requireSilence(): void {
    if (this.#replies.length > 0 || this.#arrived !== '') this.#fail('answer_invalid', 'an answer without a question');
    if (this.#fault) throw this.#fault;
  }

  /** Resolves when all bytes have left this process. What is answered before that answers something else. */
  async send(bytes: Buffer): Promise<void> {
    let gone = false;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#socket.write(bytes, () => {
        gone = true;
        resolve();
      });
    });
    // Of encrypted bytes one learns a turn late that they have left, and may have read the answer by then.
    if (!gone) await new Promise(setImmediate);
    if (!gone) this.#fail('answer_invalid', 'an answer before the end of the message');
    if (this.#fault) throw this.#fault;
  }

  /** After the server has said that it is ready for TLS. */
  async startTls(): Promise<void> {
    this.requireSilence();
    this.#socket.removeAllListeners();
    this.#socket.on('error', () => undefined); // told by the encrypted socket
    this.#socket = connectTls({ ...this.#trust(), socket: this.#socket });
    this.#listen();
    await this.#connected('secureConnect');
  }

  get encrypted(): boolean {
    return 'encrypted' in this.#socket;
  }

  /** Takes leave without waiting for an answer: what was answered before stands. */
  close(): void {
    this.signal.removeEventListener('abort', this.#abort);
    if (this.#fault) return;
    this.#socket.removeAllListeners();
    this.#socket.on('error', () => undefined);
    this.#socket.end('QUIT\r\n');
    this.#socket.setTimeout(1000, () => this.#socket.destroy()).unref();
    this.#socket.resume();
  }

  #trust(): { servername?: string; ca?: string } {
    const { host, ca } = this.address;
    return { ...(isIP(host) === 0 ? { servername: host } : {}), ...(ca === undefined ? {} : { ca }) };
  }

  #listen(): void {
    this.#socket.on('data', (chunk: Buffer) => {
      const taken = takeReplies(this.#arrived + chunk.toString('latin1'));
      if (!taken) return void this.#fail('answer_invalid');
      this.#replies.push(...taken.replies);
      this.#arrived = taken.rest;
      if (this.#arrived.length > LONGEST_REPLY || this.#replies.length > 16) this.#fail('answer_too_large');
      this.#wake();
    });
    this.#socket.once('error', (fault: NodeJS.ErrnoException) => this.#fail('connection_lost', fault.code));
    this.#socket.once('close', () => this.#fail('connection_lost'));
  }

  async #connected(event: 'connect' | 'secureConnect'): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#socket.once(event, resolve);
    });
    if (this.#fault) throw this.#fault;
  }

  readonly #abort = (): void => void this.#fail('deadline_passed');

  #fail(code: SinkErrorCode, detail?: string): SinkError {
    this.#fault ??= new SinkError(code, this.context, detail === undefined ? {} : { detail });
    this.signal.removeEventListener('abort', this.#abort);
    this.#socket.destroy();
    this.#wake();
    return this.#fault;
  }
}
