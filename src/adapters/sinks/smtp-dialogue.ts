/**
 * One mail over one connection (RFC 5321), and what a refusal at each step says about it.
 *
 * Invariant: until the first byte of the message is written, whatever happens means that the mail was not sent; afterwards only a
 * reply that follows the whole message says what became of it, and everything else is thrown. No step is tried twice, and
 * the message is not begun unless every recipient was taken.
 */
import { hostname } from 'node:os';
import { SmtpChannel, type SmtpAddress, type SmtpReply } from './smtp-channel';
import { SinkError, type SinkErrorContext } from './sink-error';

/** A login by password, or by a token. */
export type SmtpCredentials =
  | { readonly user: string; readonly password: string }
  /** For XOAUTH2. */
  | { readonly user: string; readonly accessToken: string };

export interface SmtpMail {
  readonly sender: string;
  readonly recipients: readonly string[];
  /** The message as it goes over the wire, with its final dot. */
  readonly wire: Buffer;
}

type SmtpStep = 'greeting' | 'ehlo' | 'starttls' | 'auth' | 'mail' | 'rcpt' | 'data' | 'end';

/**
 * What the server says by 4yz and 5yz. Before `mail` it speaks of the connection, afterwards of the mail. After the final dot it must
 * not deliver what it answered with either (RFC 5321 §4.2.5): by 4yz the client stays responsible and may come again, by 5yz it must not.
 */
const ABOUT_THE_CONNECTION = { transient: 'not_sent', permanent: 'not_sent' } as const;
const ABOUT_THE_MAIL = { transient: 'not_sent', permanent: 'refused' } as const;
const MEANING: Record<SmtpStep, typeof ABOUT_THE_CONNECTION | typeof ABOUT_THE_MAIL> = {
  greeting: ABOUT_THE_CONNECTION,
  ehlo: ABOUT_THE_CONNECTION,
  starttls: ABOUT_THE_CONNECTION,
  auth: ABOUT_THE_CONNECTION,
  mail: ABOUT_THE_MAIL,
  rcpt: ABOUT_THE_MAIL,
  data: ABOUT_THE_MAIL,
  end: ABOUT_THE_MAIL,
};
/** 5yz codes that ask for a login or encryption, at whatever step. */
const ASKS_FOR_A_LOGIN: ReadonlySet<number> = new Set([530, 534, 535, 538]);

export type SmtpEnd =
  | { readonly end: 'taken'; readonly text: string }
  | { readonly end: 'refused'; readonly code: number }
  | { readonly end: 'not_sent'; readonly fault: SinkError };

class Declined {
  constructor(
    readonly step: SmtpStep,
    readonly code: number,
  ) {}
}

const CLIENT_NAME = /^[A-Za-z0-9.-]+\.[A-Za-z0-9.-]+$/.test(hostname()) ? hostname() : '[127.0.0.1]';

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

function requireDigit(step: SmtpStep, wanted: 2 | 3, reply: SmtpReply, context: SinkErrorContext): SmtpReply {
  if (Math.floor(reply.code / 100) === wanted) return reply;
  if (reply.code >= 400 && reply.code < 600) throw new Declined(step, reply.code);
  throw new SinkError('answer_invalid', context, { detail: `step=${step}, status=${reply.code}` });
}

/** Connection, greeting, encryption and login; the extensions that the server then offers. */
async function enter(
  channel: SmtpChannel,
  address: SmtpAddress,
  credentials: SmtpCredentials | null,
  context: SinkErrorContext,
): Promise<ReadonlyMap<string, string>> {
  const hello = async (): Promise<ReadonlyMap<string, string>> => {
    const { lines } = requireDigit('ehlo', 2, await channel.command(`EHLO ${CLIENT_NAME}`), context);
    return new Map(lines.slice(1).map((line) => [line.split(' ')[0]?.toUpperCase() ?? '', line.toUpperCase()]));
  };
  requireDigit('greeting', 2, await channel.read(), context);
  let offered = await hello();
  if (address.tls === 'starttls') {
    if (!offered.has('STARTTLS')) throw new SinkError('not_encrypted', context);
    requireDigit('starttls', 2, await channel.command('STARTTLS'), context);
    await channel.startTls();
    offered = await hello(); // what was offered in the clear may have been anybody's
  }
  if (credentials) await login(channel, credentials, offered.get('AUTH') ?? '', context);
  return offered;
}

async function login(
  channel: SmtpChannel,
  credentials: SmtpCredentials,
  offered: string,
  context: SinkErrorContext,
): Promise<void> {
  const { user } = credentials;
  const steps =
    'accessToken' in credentials
      ? [`AUTH XOAUTH2 ${base64(`user=${user}\x01auth=Bearer ${credentials.accessToken}\x01\x01`)}`]
      : / PLAIN\b/.test(offered)
        ? [`AUTH PLAIN ${base64(`\0${user}\0${credentials.password}`)}`]
        : ['AUTH LOGIN', base64(user), base64(credentials.password)];
  for (const [index, line] of steps.entries()) {
    requireDigit('auth', index === steps.length - 1 ? 2 : 3, await channel.command(line), context);
  }
}

/** Says hello, logs in, and leaves. */
export async function visit(
  address: SmtpAddress,
  credentials: SmtpCredentials | null,
  signal: AbortSignal,
  context: SinkErrorContext,
): Promise<'welcome' | { readonly step: SmtpStep; readonly code: number }> {
  const channel = await SmtpChannel.open(address, signal, context);
  try {
    await enter(channel, address, credentials, context);
    return 'welcome';
  } catch (fault) {
    if (fault instanceof Declined) return { step: fault.step, code: fault.code };
    throw fault;
  } finally {
    channel.close();
  }
}

export async function sendMail(
  address: SmtpAddress,
  credentials: SmtpCredentials | null,
  mail: SmtpMail,
  signal: AbortSignal,
  context: SinkErrorContext,
): Promise<SmtpEnd> {
  let channel: SmtpChannel | null = null;
  let begun = false;
  try {
    channel = await SmtpChannel.open(address, signal, context);
    const offered = await enter(channel, address, credentials, context);
    const size = offered.has('SIZE') ? ` SIZE=${mail.wire.length}` : '';
    requireDigit('mail', 2, await channel.command(`MAIL FROM:<${mail.sender}>${size}`), context);
    for (const recipient of mail.recipients) {
      requireDigit('rcpt', 2, await channel.command(`RCPT TO:<${recipient}>`), context);
    }
    requireDigit('data', 3, await channel.command('DATA'), context);
    channel.requireSilence();
    begun = true;
    await channel.send(mail.wire);
    const { lines } = requireDigit('end', 2, await channel.read(), context);
    return { end: 'taken', text: lines.join('\n') };
  } catch (fault) {
    if (fault instanceof Declined) return declined(fault, context);
    if (begun) throw fault;
    return { end: 'not_sent', fault: fault instanceof SinkError ? fault : new SinkError('not_reachable', context) };
  } finally {
    channel?.close();
  }
}

function declined({ step, code }: Declined, context: SinkErrorContext): SmtpEnd {
  const meaning = MEANING[step][code < 500 ? 'transient' : 'permanent'];
  if (meaning === 'refused' && !ASKS_FOR_A_LOGIN.has(code)) return { end: 'refused', code };
  const fault = new SinkError('unexpected_status', context, { detail: `step=${step}, status=${code}` });
  return { end: 'not_sent', fault };
}
