/**
 * Mail in governed plans on a real Temporal server.
 *
 * - A plan whose mail is taken is complete, and its result tells the server's name for it.
 * - A worker that is killed between the end of the message and the answer leaves the mail to a person; nobody sends it again.
 * - A mail that was not sent is sent later, once.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { smtpSink } from '../../../src/adapters/sinks';
import { useRig } from '../../support/rig';
import { type SmtpSystem, startSmtp } from '../../systems/smtp';
import { killedInSend, startWith, workWith } from './killed-worker';

const rig = useRig();
const OPERATION = { to: 'a@example.com', subject: 'Order 7', text: 'Thank you.' };
let smtp: SmtpSystem;
beforeAll(async () => {
  smtp = await startSmtp();
});
afterAll(() => smtp.end());
const options = (): Parameters<typeof smtpSink>[0] => ({
  ...{ name: 'mail', host: '127.0.0.1', port: smtp.port, tls: 'none' },
  ...{ from: { address: 'orders@example.org' }, deadlineMs: 2_000, retryAfterMs: 10 },
});

test('sent once, also after a temporary refusal', async () => {
  const before = smtp.mails.length;
  smtp.fail({ step: 'RCPT', does: { says: '450 greylisted' } });
  await workWith(rig, smtpSink(options()));
  const outcome = await (await startWith(rig, OPERATION)).result();
  expect(outcome.status).toBe('completed');
  expect(smtp.mails.length - before).toBe(1);
});

test('killed before the answer: a person decides, and nothing is sent again', async () => {
  const before = smtp.mails.length;
  smtp.fail({ step: 'end', does: 'stall_reply' });
  const orders = { sink: 'smtp', options: { ...options(), selfTest: false } } as const;
  const handle = await killedInSend(rig, orders, OPERATION, smtp.struck(), smtpSink(options()));
  const status = await rig.until(handle, ({ state }) => state === 'parked');
  expect(JSON.stringify(status)).toContain('outcome_unknown');
  expect(smtp.mails.length - before).toBe(1);
});
