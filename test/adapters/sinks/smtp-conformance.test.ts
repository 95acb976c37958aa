/**
 * The SMTP sink against the kit, with the kit's own proxy before a real server.
 *
 * - It keeps every promise under every fault of the line.
 * - What is not applicable is so for the reason that is written here: nobody can look a mail up, and no server knows keys.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { smtpSink } from '../../../src/adapters/sinks';
import { sinkConformance, type SinkFixture } from '../../../src/testing';
import { conforms, OF_KEYS, OF_LOOKING, OF_MEANING } from '../../support/conformance';
import { startSmtp, type SmtpSystem } from '../../systems/smtp';

const PASSWORD = 'the-password-of-the-sender';

describe.each(['without a login', 'with a login'])('%s', (how) => {
  const login = how === 'with a login';
  let smtp: SmtpSystem;
  beforeAll(async () => {
    smtp = await startSmtp(login ? { onAuth: (_given, _session, done) => done(null, { user: 'orders' }) } : {});
  });
  afterAll(() => smtp.end());
  const fixture = (): SinkFixture => ({
    patienceMs: 600,
    target: { port: smtp.port },
    secrets: login ? [PASSWORD] : [],
    operation: (text) => ({ to: `${text}@example.com`, subject: text, text: `${text}\n.\n` }),
    refused: (text) => ({ to: `${text}@example.com, everybody`, text }),
    writes: ({ idempotencyKey }) => smtp.mails.filter(({ text }) => text.includes(`<${idempotencyKey}@`)).length,
  });
  conforms(
    sinkConformance(
      ({ host, port }) =>
        smtpSink({
          ...{ name: 'mail', host, port, tls: 'none', from: { address: 'orders@example.org' }, deadlineMs: 5_000 },
          ...(login ? { credentials: () => ({ user: 'orders', password: PASSWORD }) } : {}),
        }),
      fixture,
    ),
    { ...OF_LOOKING, ...OF_KEYS, ...OF_MEANING, expired_key: /cannot be aged/ },
  );
});
