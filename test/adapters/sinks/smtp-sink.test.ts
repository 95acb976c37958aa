/**
 * The SMTP sink against a real server, behind a front that fails at each step.
 *
 * - One mail an effect, on one connection a send: whatever fails, nothing is tried again by the sink.
 * - `accepted` only after a 2yz reply to the whole message; before its first byte everything is `not_sent` or `refused`; afterwards
 *   everything but a reply is unknown.
 * - All recipients or none: where one is refused, nobody gets the mail.
 * - No mail, login or text leaves in the clear except to this machine; a stripped or injected STARTTLS gets nothing.
 * - No text of an operation becomes a header, a recipient, a command or an end of the message; none reads a file.
 * - No error tells content or credentials.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import os from 'node:os';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { smtpSink, type SmtpSinkOptions } from '../../../src/adapters/sinks';
import { toWire } from '../../../src/adapters/sinks/smtp-message';
import { makeCertificate, type SmtpFault, type SmtpStep, type SmtpSystem, startSmtp } from '../../systems/smtp';
import { makeItem, SECRET, sendAndTell, within } from './support';

const options = (port: number, over: Partial<SmtpSinkOptions> = {}): SmtpSinkOptions => ({
  name: 'mail',
  host: '127.0.0.1',
  port,
  tls: 'none',
  from: { name: 'Orders', address: 'orders@example.org' },
  retryAfterMs: 7,
  ...over,
});
const mail = (over: Record<string, unknown> = {}): ReturnType<typeof makeItem> =>
  makeItem({ to: ['a@example.com', 'b@example.com'], subject: `Order ${SECRET}`, text: `.\nHello\n..\n`, ...over });

const LATER = { outcome: 'not_sent', retryAfterMs: 7 };

describe('without encryption, on this machine', () => {
  let smtp: SmtpSystem;
  beforeAll(async () => {
    smtp = await startSmtp();
  });
  afterAll(() => smtp.end());
  let [mails, connections] = [0, 0];
  beforeEach(() => {
    [mails, connections] = [smtp.mails.length, smtp.connections];
  });

  /** Sends under a fault; one that leaves the sink without an answer is ended by the deadline, once it has struck. */
  async function sendUnder(fault: SmtpFault): Promise<unknown> {
    smtp.fail(fault);
    const deadline = new AbortController();
    if (String(fault.does).startsWith('stall')) void smtp.struck().then(() => deadline.abort());
    const told = await sendAndTell(smtpSink(options(smtp.port)), mail(), deadline.signal);
    expect(smtp.connections - connections).toBe(1);
    return told;
  }

  test('a mail is taken once, under the name that the key gives it', async () => {
    const sink = smtpSink(options(smtp.port, { credentials: () => ({ user: 'u', password: SECRET }) }));
    const item = mail({ cc: { name: 'Chéri', address: 'c@example.com' }, bcc: 'd@example.com', html: '<p>ö</p>' });
    await expect(sendAndTell(smtpSink(options(smtp.port)), item)).resolves.toEqual({
      outcome: 'accepted',
      externalId: `Q${mails + 1}`,
      result: { messageId: `${item.idempotencyKey}@example.org`, queueId: `Q${mails + 1}` },
    });
    const taken = smtp.mails[mails];
    expect(taken?.sender).toBe('orders@example.org');
    expect(taken?.recipients).toEqual(['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com']);
    expect(taken?.text).toContain(`Message-ID: <${item.idempotencyKey}@example.org>\r\n`);
    expect(taken?.text).toContain('\r\n.\r\nHello\r\n..\r\n');
    expect(taken?.text).not.toContain('d@example.com');
    // This server has no accounts: a login is refused, and nothing is sent.
    expect(await sendAndTell(sink, mail())).toEqual(LATER);
    expect(smtp.mails.length - mails).toBe(1);
  });

  const BEFORE: Record<'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA', 'not_sent' | 'refused'> = {
    greeting: 'not_sent',
    EHLO: 'not_sent',
    MAIL: 'refused',
    RCPT: 'refused',
    DATA: 'refused',
  };
  const rows: [SmtpStep, SmtpFault['does'], unknown, number][] = [
    ...Object.entries(BEFORE).flatMap(([at, permanent]): typeof rows => {
      const step = at as SmtpStep;
      const losses = step === 'greeting' ? [] : (['close_reply', 'reset_reply', 'stall_reply'] as const);
      return [
        ...(['close', 'reset', 'stall', ...losses] as const).map((does): (typeof rows)[number] => [
          step,
          does,
          LATER,
          0,
        ]),
        [step, { says: '421 4.3.2 going down' }, LATER, 0],
        [step, { says: '451-first\r\n451 later' }, LATER, 0],
        [step, { says: '530 5.7.0 log in first' }, LATER, 0],
        [
          step,
          { says: `554 ${SECRET}` },
          permanent === 'refused' ? { outcome: 'refused', code: 'smtp_554' } : LATER,
          0,
        ],
        [step, { says: 'HTTP/1.1 200 OK' }, LATER, 0],
        [step, { says: '250-one\r\n354 another' }, LATER, 0],
        [step, { says: '199 what' }, LATER, 0],
      ];
    }),
    ['body', 'close', 'connection_lost', 0],
    ['body', 'reset', 'connection_lost', 0],
    ['body', 'stall', 'deadline_passed', 0],
    ['end', 'close', 'connection_lost', 0],
    ['end', 'reset', 'connection_lost', 0],
    ['end', 'stall', 'deadline_passed', 0],
    ['end', 'close_reply', 'connection_lost', 1],
    ['end', 'reset_reply', 'connection_lost', 1],
    ['end', 'stall_reply', 'deadline_passed', 1],
    ['end', { says: '451 4.3.0 try again' }, LATER, 0],
    ['end', { says: `554 ${SECRET}` }, { outcome: 'refused', code: 'smtp_554' }, 0],
    ['end', { says: '354 go on' }, 'answer_invalid', 0],
    ['end', { says: 'hello' }, 'answer_invalid', 0],
  ];
  test.each(rows)('at %s: %j', async (step, does, told, taken) => {
    expect(await sendUnder({ step, does })).toEqual(told);
    expect(smtp.mails.length - mails).toBe(taken);
  });

  test.each([
    ['550 5.1.1 nobody here', { outcome: 'refused', code: 'smtp_550' }],
    ['450 4.2.0 greylisted', LATER],
  ])('where the second recipient gets %j, the first gets nothing either', async (says, told) => {
    expect(await sendUnder({ step: 'RCPT', after: 1, does: { says } })).toEqual(told);
    expect(smtp.mails.length - mails).toBe(0);
  });

  test('an answer before its question, and one before the end of the message, is none', async () => {
    expect(await sendUnder({ step: 'RCPT', does: { says: '250 ok\r\n250 and again' } })).toEqual(LATER);
    const SCRIPT: Record<string, string> = { EHLO: '250 hi', MAIL: '250 ok', RCPT: '250 ok' };
    const hasty = createServer((socket) => {
      socket.on('error', () => undefined).write('220 hi\r\n');
      socket.on('data', (chunk) => {
        const verb = chunk.toString().slice(0, 4);
        if (verb === 'DATA') socket.pause().write('354 go on\r\n', () => void socket.write('250 taken already\r\n'));
        else socket.write(`${SCRIPT[verb] ?? '500 what'}\r\n`);
      });
    });
    await once(hasty.listen(0, '127.0.0.1'), 'listening');
    const { port } = hasty.address() as AddressInfo;
    const content = Buffer.alloc(12 * 1024 * 1024).toString('base64');
    const large = mail({ attachments: [{ filename: 'zeros', content }] });
    const sink = smtpSink(options(port, { maxMessageBytes: 64 * 1024 * 1024 }));
    expect(await sendAndTell(sink, large)).toBe('answer_invalid');
    hasty.close();
  });

  test.each([
    ['a line break in the subject', { subject: 'x\r\nBcc: e@example.com' }],
    ['a line break in a name', { to: { name: 'x\nBcc: e@example.com', address: 'a@example.com' } }],
    ['two addresses in one', { to: 'a@example.com, e@example.com' }],
    ['a command in an address', { to: 'a@example.com>\r\nRCPT TO:<e@example.com' }],
    ['a name in a plain address', { to: 'E <e@example.com>' }],
    ['no recipient', { to: [] }],
    ['no body', { text: undefined }],
    ['another sender', { from: 'boss@example.org' }],
    ['an envelope', { envelope: { to: 'e@example.com' } }],
    ['a header of its own', { headers: { Bcc: 'e@example.com' } }],
    ['a broken header', { headers: { 'X-A': 'x\r\nBcc: e@example.com' } }],
    ['a file as text', { text: { path: '/etc/hostname' } }],
    ['a file as attachment', { attachments: [{ filename: 'a', path: '/etc/hostname' }] }],
    ['an attachment that is no base64', { attachments: [{ filename: 'a', content: '!' }] }],
    ['a broken file name', { attachments: [{ filename: 'a"\r\nX: y', content: '' }] }],
    ['a NUL', { text: undefined, html: undefined, subject: '\0' }],
  ])('%s is refused before anything is sent', async (_what, over) => {
    const refused = { outcome: 'refused', code: 'invalid_operation' };
    expect(await sendAndTell(smtpSink(options(smtp.port)), mail(over))).toEqual(refused);
    expect(smtp.connections).toBe(connections);
  });

  test.each([
    [{ maxRecipients: 1 }, 'too_many_recipients'],
    [{ maxMessageBytes: 100 }, 'message_too_large'],
  ])('%j: %s', async (limit, code) => {
    expect(await sendAndTell(smtpSink(options(smtp.port, limit)), mail())).toEqual({ outcome: 'refused', code });
    expect(smtp.connections).toBe(connections);
  });

  test('what the server finds too large it refuses before the message', async () => {
    const content = Buffer.alloc(1024 * 1024).toString('base64');
    const large = mail({ attachments: [{ filename: 'zeros', content }] });
    expect(await sendAndTell(smtpSink(options(smtp.port)), large)).toEqual({ outcome: 'refused', code: 'smtp_552' });
  });

  test('sixteen at once: sixteen mails, each under its own key', async () => {
    const items = Array.from({ length: 16 }, () => mail());
    const sink = smtpSink(options(smtp.port));
    const told = await Promise.all(items.map((item) => sink.dispatch(item, within())));
    expect(new Set(told.map((one) => (one.outcome === 'accepted' ? one.externalId : one.outcome))).size).toBe(16);
    const sent = smtp.mails.slice(mails).map(({ text }) => /Message-ID: <(.+)@/.exec(text)?.[1] ?? '');
    expect(sent.sort()).toEqual(items.map(({ idempotencyKey }) => idempotencyKey).sort());
  });

  test('nothing listens: not sent', async () => {
    const gone = await startSmtp();
    await gone.end();
    expect(await sendAndTell(smtpSink(options(gone.port)), mail())).toEqual(LATER);
    await expect(smtpSink(options(gone.port)).probe?.()).rejects.toMatchObject({ code: 'connection_lost' });
  });

  test('a deadline that has passed before: not sent', async () => {
    expect(await sendAndTell(smtpSink(options(smtp.port)), mail(), AbortSignal.abort())).toEqual(LATER);
    expect(smtp.mails.length).toBe(mails);
  });

  test('the self-test sends nothing, and refuses a server that refuses', async () => {
    await smtpSink(options(smtp.port)).probe?.();
    smtp.fail({ step: 'EHLO', does: { says: `554 ${SECRET}` } });
    await expect(smtpSink(options(smtp.port)).probe?.()).rejects.toThrow(/^probe_failed: .*step=ehlo, status=554\]$/);
    expect(smtp.mails.length).toBe(mails);
    expect(smtpSink(options(smtp.port, { selfTest: false })).probe).toBeUndefined();
  });
});

describe('encrypted', () => {
  const pair = makeCertificate();
  const accounts = {
    ...pair,
    authOptional: false,
    authMethods: ['PLAIN', 'LOGIN', 'XOAUTH2'],
    onAuth: (
      auth: { password?: string; accessToken?: string },
      _session: unknown,
      done: (e: null, r: object) => void,
    ) =>
      done(null, (auth.password ?? auth.accessToken) === SECRET ? { user: 1 } : { message: SECRET, responseCode: 535 }),
  } as Parameters<typeof startSmtp>[0];
  const login = { credentials: () => ({ user: 'u', password: SECRET }), ca: pair.cert };
  let starttls: SmtpSystem;
  let implicit: SmtpSystem;
  beforeAll(async () => {
    starttls = await startSmtp(accounts);
    implicit = await startSmtp({ ...accounts, secure: true, authMethods: ['LOGIN'] });
  });
  afterAll(() => Promise.all([starttls.end(), implicit.end()]));
  const secured = (over: Partial<SmtpSinkOptions> = {}): SmtpSinkOptions =>
    options(starttls.port, { tls: 'starttls', ...login, ...over });

  test('STARTTLS and TLS from the start, each way to log in', async () => {
    const token = { credentials: () => ({ user: 'u', accessToken: SECRET }) };
    for (const given of [
      secured(),
      secured(token),
      secured({ host: 'localhost' }),
      secured({ tls: 'implicit', port: implicit.port }),
    ]) {
      expect(await sendAndTell(smtpSink(given), mail())).toMatchObject({ outcome: 'accepted' });
    }
    expect(starttls.mails.length).toBe(3);
    expect(implicit.mails.length).toBe(1);
  });

  test.each<[string, Partial<SmtpSinkOptions>]>([
    ['a wrong password', { credentials: () => ({ user: 'u', password: 'wrong' }) }],
    ['a wrong token', { credentials: () => ({ user: 'u', accessToken: 'wrong' }) }],
    ['no login', { credentials: undefined as never }],
    ['a login that cannot be had', { credentials: () => Promise.reject(new Error(SECRET)) }],
    ['an authority that nobody trusts', { ca: makeCertificate().cert }],
    ['plain text where TLS is spoken', { tls: 'implicit' }],
  ])('%s: not sent', async (_what, over) => {
    const before = starttls.mails.length;
    const { credentials, ...rest } = secured(over);
    const sink = smtpSink({ ...rest, ...(credentials ? { credentials } : {}) });
    expect(await sendAndTell(sink, mail())).toEqual(LATER);
    expect(starttls.mails.length).toBe(before);
  });

  test.each<[SmtpStep, SmtpFault['does']]>([
    ['EHLO', { says: '250 nothing is offered here' }],
    ['STARTTLS', { says: '220 go on\r\n250 injected' }],
    ['STARTTLS', { says: '220 go on, but nobody encrypts' }],
    ['STARTTLS', { says: '454 not now' }],
    ['STARTTLS', { says: '502 never' }],
    ['STARTTLS', 'close'],
    ['STARTTLS', 'reset'],
    ['STARTTLS', 'stall'],
  ])('at %s %j: no login and no mail leaves', async (step, does) => {
    const before = starttls.mails.length;
    const deadline = new AbortController();
    starttls.fail({ step, does });
    void starttls.struck().then(() => setImmediate(() => deadline.abort()));
    expect(await sendAndTell(smtpSink(secured()), mail(), deadline.signal)).toEqual(LATER);
    expect(starttls.mails.length).toBe(before);
  });

  test('`none` is no way to a server on another machine', async () => {
    const outside = Object.values(os.networkInterfaces())
      .flat()
      .find((one) => one?.internal === false && one.family === 'IPv4');
    let said = 0;
    const server = createServer((socket) => void socket.on('error', () => undefined).on('data', () => (said += 1)));
    // Bound to this machine only; the address that it is asked under decides what the sink sees.
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const sink = smtpSink(options(port, { host: outside?.address ?? '192.0.2.1' }));
    expect(await sendAndTell(sink, mail(), AbortSignal.timeout(500))).toEqual(LATER);
    expect(said).toBe(0);
    server.close();
  });
});

test('whatever stands in a message, it has one end, whole lines, and arrives as it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('.', '\r', '\n', '\r\n', 'a', '.\r\n', '\r\n.\r\n') }), (text) => {
      const wire = toWire(Buffer.from(text))?.toString() ?? '';
      const lines = wire.split('\r\n');
      expect(lines.slice(-2)).toEqual(['.', '']);
      const content = lines.slice(0, -2);
      expect(content).not.toContain('.');
      expect(content.join('')).not.toMatch(/[\r\n]/);
      const received = content.map((line) => line.replace(/^\./, '')).join('\n');
      expect(received).toBe(text.replace(/\r\n|\r/g, '\n').replace(/\n$/, ''));
    }),
  );
  expect(toWire(Buffer.from('x'.repeat(999)))).toBeNull();
  expect(toWire(Buffer.from('\0'))).toBeNull();
  expect(toWire(Buffer.from('é'))).toBeNull();
});
