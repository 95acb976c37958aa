/**
 * A real SMTP server for tests, on 127.0.0.1, behind a front that fails at one step of one connection.
 *
 * Invariant: `mails` holds what the server has taken responsibility for, and nothing else; a fault is used up by the first connection
 * that comes to its step.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { type Running } from './system';

export const SMTP_STEPS = ['greeting', 'EHLO', 'STARTTLS', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'body', 'end'] as const;
/** `body` is in the middle of the message, `end` when all of it has come. */
export type SmtpStep = (typeof SMTP_STEPS)[number];

export interface SmtpFault {
  readonly step: SmtpStep;
  /** Steps of this name that pass first. @default 0 */
  readonly after?: number;
  /**
   * Instead of passing on what came: close, reset, never answer, or answer this text. With `reply` the server gets it and answers, and
   * its answer is lost or kept back.
   */
  readonly does:
    'close' | 'reset' | 'stall' | 'close_reply' | 'reset_reply' | 'stall_reply' | { readonly says: string };
}

export interface TakenMail {
  readonly id: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly text: string;
}

export interface SmtpSystem extends Running {
  readonly port: number;
  readonly mails: readonly TakenMail[];
  /** Connections that were made. */
  readonly connections: number;
  fail(fault: SmtpFault): void;
  /** The next time that a fault strikes. */
  struck(): Promise<void>;
}

/** A key and a certificate for 127.0.0.1 and localhost, made now. */
export function makeCertificate(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-smtp-'));
  const [key, cert] = [path.join(folder, 'key'), path.join(folder, 'cert')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', '-days', '2', ...made, ...names], { stdio: 'ignore' });
  const pair = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return pair;
}

export async function startSmtp(options: SMTPServerOptions = {}): Promise<SmtpSystem> {
  const mails: TakenMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.key === undefined ? ['STARTTLS'] : [],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    size: 1024 * 1024,
    closeTimeout: 100,
    ...options,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const id = `Q${mails.length + 1}`;
        const { mailFrom, rcptTo } = session.envelope;
        const recipients = rcptTo.map(({ address }) => address);
        const text = Buffer.concat(chunks).toString('latin1');
        mails.push({ id, sender: mailFrom === false ? '' : mailFrom.address, recipients, text });
        done(null, `2.0.0 Ok: queued as ${id}`);
      });
    },
  });
  server.on('error', () => undefined); // clients that reset their connection
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port: behind } = server.server.address() as AddressInfo;

  let faults: { fault: SmtpFault; after: number }[] = [];
  let strike: () => void = () => undefined;
  let connections = 0;
  const open = new Set<Socket>();

  function take(step: SmtpStep): SmtpFault['does'] | undefined {
    const entry = faults.find(({ fault }) => fault.step === step);
    if (!entry || entry.after-- > 0) return undefined;
    faults = faults.filter((other) => other !== entry);
    return entry.fault.does;
  }

  const front = createServer({ noDelay: true }, (client) => {
    connections += 1;
    const up = connect(behind, '127.0.0.1');
    for (const socket of [client, up]) {
      open.add(socket);
      socket.on('error', () => undefined).on('close', () => open.delete(socket));
    }
    up.on('close', () => client.end());
    client.on('close', () => up.destroy());
    let mode: 'lines' | 'body' | 'raw' | 'dead' = options.secure === true ? 'raw' : 'lines';
    let arrived = '';
    let onReply: ((text: string) => void) | null = null;

    /** Does what a fault says; whether there was one. */
    const struckBy = (step: SmtpStep, pass: () => void): boolean => {
      const does = take(step);
      if (does === undefined) return false;
      const end = (how: string): void => {
        if (how.startsWith('close')) client.destroy();
        if (how.startsWith('reset')) client.resetAndDestroy();
        strike();
      };
      if (typeof does === 'object') {
        client.write(`${does.says}\r\n`);
        strike();
      } else if (does.endsWith('_reply')) {
        onReply = () => end(does);
        pass();
      } else {
        mode = 'dead';
        end(does);
      }
      return true;
    };

    const onLine = (line: string): void => {
      const step = line.trim().split(/[ :]/)[0]?.toUpperCase() as SmtpStep;
      const pass = (): void => void up.write(line);
      if (SMTP_STEPS.includes(step) && struckBy(step, pass)) return;
      if (step === 'DATA') {
        onReply = (text) => {
          if (text.startsWith('354')) mode = 'body';
          client.write(text);
        };
      }
      if (step === 'STARTTLS') mode = 'raw';
      pass();
    };

    client.on('data', (chunk: Buffer) => {
      if (mode === 'dead') return;
      if (mode === 'raw') return void up.write(chunk);
      arrived += chunk.toString('latin1');
      if (mode === 'body') {
        if (arrived.length > 64 && struckBy('body', () => undefined)) return;
        if (!arrived.endsWith('\r\n.\r\n')) return;
        const message = arrived;
        [arrived, mode] = ['', 'lines'];
        const pass = (): void => void up.write(Buffer.from(message, 'latin1'));
        if (!struckBy('end', pass)) pass();
        return;
      }
      for (let end = arrived.indexOf('\r\n'); end >= 0 && mode === 'lines'; end = arrived.indexOf('\r\n')) {
        const line = arrived.slice(0, end + 2);
        arrived = arrived.slice(end + 2);
        onLine(line);
      }
    });
    let greeted = false;
    up.on('data', (chunk: Buffer) => {
      if (!greeted && mode === 'lines') {
        greeted = true;
        if (struckBy('greeting', () => undefined)) return;
      }
      if (!onReply) return void client.write(chunk);
      const told = onReply;
      onReply = null;
      told(chunk.toString('latin1'));
    });
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');

  return {
    port: (front.address() as AddressInfo).port,
    mails,
    get connections() {
      return connections;
    },
    fail: (fault) => void faults.push({ fault, after: fault.after ?? 0 }),
    struck: () => new Promise((resolve) => (strike = resolve)),
    async end() {
      for (const socket of open) socket.destroy();
      front.close();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
