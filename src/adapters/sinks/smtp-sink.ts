/**
 * Mail through an SMTP server: one mail an effect, on a connection of its own.
 *
 * Invariant: a mail cannot be looked up, so nothing is said that the dialogue does not prove. `accepted` needs a 2yz reply to the
 * whole message; what broke before its first byte was not sent; what broke afterwards is unknown, and never sent again by us.
 */
import { optionalPeer } from '../optional-peer';
import { type DispatchOutcome, type EffectSink } from '../../ports';
import { type SmtpAddress } from './smtp-channel';
import { sendMail, type SmtpCredentials, visit } from './smtp-dialogue';
import { composeMail, isAddress, type MailAddress, type MailComposer } from './smtp-message';
import { SinkError } from './sink-error';

/** Which server, and who sends; times are in milliseconds. */
export interface SmtpSinkOptions {
  /** What errors call this sink. */
  readonly name: string;
  readonly host: string;
  /** @default 465 with `implicit`, otherwise 587 */
  readonly port?: number;
  /** `none` is only possible with a server on this machine. @default 'starttls' */
  readonly tls?: SmtpAddress['tls'];
  /** Authorities to trust instead of Node's own, as PEM. */
  readonly ca?: string;
  /** Asked for at each send and never kept. */
  readonly credentials?: () => SmtpCredentials | Promise<SmtpCredentials>;
  /** Who sends; no operation can say otherwise. */
  readonly from: MailAddress;
  /** What stands after the @ of a Message-ID. @default the domain of `from` */
  readonly messageIdDomain?: string;
  /** The server's own name for a mail, from the text of its reply. @default as Postfix and Exim write it */
  readonly queueId?: (text: string) => string | null;
  /** Most recipients of one mail. @default 100 */
  readonly maxRecipients?: number;
  /** Largest mail, encoded. @default 10 MiB */
  readonly maxMessageBytes?: number;
  /** Pause after a temporary refusal. @default 60000 */
  readonly retryAfterMs?: number;
  /** For the whole dialogue. Servers may take minutes to answer a message, and no answer is an unknown outcome. @default 120000 */
  readonly deadlineMs?: number;
  readonly maxInFlight?: number;
  readonly minIntervalMs?: number;
  /** Whether a worker's start connects and logs in. @default true */
  readonly selfTest?: boolean;
}

const DEFAULT_PORTS: Record<SmtpAddress['tls'], number> = { implicit: 465, starttls: 587, none: 587 };
/** What may stand before the @ of a Message-ID as it is. */
const LOCAL_PART = /^[A-Za-z0-9_-]{1,128}$/;
const QUEUE_ID = /(?:queued as |\bid=)([A-Za-z0-9.-]{1,64})/i;

const usualQueueId = (text: string): string | null => QUEUE_ID.exec(text)?.[1] ?? null;

/** A mail for each effect. Throws `peer_missing` without `nodemailer`, and where `from` is no plain address. */
export function smtpSink(options: SmtpSinkOptions): EffectSink {
  const { name: sink, host, tls = 'starttls', from, deadlineMs = 120_000, retryAfterMs = 60_000 } = options;
  const Composer = optionalPeer(
    'smtpSink',
    'nodemailer',
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    () => require('nodemailer/lib/mail-composer') as MailComposer,
  );
  if (!isAddress(from.address)) throw new Error(`smtpSink ${sink}: \`from\` must be a plain mail address in ASCII`);
  const address: SmtpAddress = { host, port: options.port ?? DEFAULT_PORTS[tls], tls, ca: options.ca };
  const domain = options.messageIdDomain ?? from.address.slice(from.address.indexOf('@') + 1);

  /** Errors of what the operator wrote could quote a credential or an answer. */
  const credentials = async (): Promise<SmtpCredentials | null | 'failed'> => {
    try {
      return (await options.credentials?.()) ?? null;
    } catch {
      return 'failed';
    }
  };
  const queueIdOf = (text: string): string | null => {
    try {
      return (options.queueId ?? usualQueueId)(text);
    } catch {
      return null; // the mail is taken, whatever it is called
    }
  };

  return {
    kind: 'local_tool',
    sideEffect: 'irreversible_action',
    lookup: 'none',
    enforcesKey: 'no',
    deadlineMs,
    // Nobody looks anything up, so there is no time after which a look-up would be worth more.
    settleMs: 0,
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
    ...(options.minIntervalMs === undefined ? {} : { minIntervalMs: options.minIntervalMs }),

    observe: (items) => Promise.resolve(items.map(() => ({ state: 'unknown' }) as const)),

    async dispatch(item, { signal }): Promise<DispatchOutcome> {
      const context = { sink, key: item.idempotencyKey };
      if (!LOCAL_PART.test(item.idempotencyKey)) return { outcome: 'refused', code: 'invalid_operation' };
      const messageId = `${item.idempotencyKey}@${domain}`;
      const mail = await composeMail(Composer, item.operation, from, messageId);
      if (mail === null) return { outcome: 'refused', code: 'invalid_operation' };
      if (mail.recipients.length > (options.maxRecipients ?? 100)) {
        return { outcome: 'refused', code: 'too_many_recipients' };
      }
      if (mail.wire.length > (options.maxMessageBytes ?? 10 * 1024 * 1024)) {
        return { outcome: 'refused', code: 'message_too_large' };
      }
      const login = await credentials();
      if (login === 'failed') return { outcome: 'not_sent', retryAfterMs };
      const ended = await sendMail(address, login, { sender: from.address, ...mail }, signal, context);
      switch (ended.end) {
        case 'taken': {
          const queueId = queueIdOf(ended.text);
          return { outcome: 'accepted', externalId: queueId ?? messageId, result: { messageId, queueId } };
        }
        case 'refused':
          return { outcome: 'refused', code: `smtp_${ended.code}` };
        case 'not_sent':
          return { outcome: 'not_sent', retryAfterMs };
      }
    },

    ...(options.selfTest === false
      ? {}
      : {
          async probe() {
            const context = { sink, key: 'self-test' };
            const login = await credentials();
            if (login === 'failed') throw new SinkError('probe_failed', context, { detail: 'step=credentials' });
            const met = await visit(address, login, AbortSignal.timeout(Math.min(deadlineMs, 30_000)), context);
            if (met === 'welcome') return;
            throw new SinkError('probe_failed', context, { detail: `step=${met.step}, status=${met.code}` });
          },
        }),
  };
}
