/**
 * A mail as an operation describes it, and the bytes that it becomes.
 *
 * Invariant: no text of an operation can become a header, a recipient or a command that it was not given as; nothing is read from
 * files or addresses; and the bytes are safe on the wire: 7 bit, lines of at most 998 bytes ended by CRLF, dots doubled, one end.
 */

export interface MailAddress {
  readonly name?: string;
  readonly address: string;
}

/** What `sendMail` is given beside the connection. */
export interface ComposedMail {
  readonly recipients: readonly string[];
  readonly wire: Buffer;
}

/** Of nodemailer's composer, what is used here. */
export type MailComposer = new (mail: object) => { compile(): { build(): Promise<Buffer> } };
type Dict = Readonly<Record<string, unknown>>;

/** RFC 5321 without quoted local parts, address literals and non-ASCII. */
const ADDRESS =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/;
const HEADER = /^(?:X-[A-Za-z0-9-]{1,60}|Auto-Submitted|In-Reply-To|References|List-[A-Za-z-]{1,20}|Precedence)$/i;
const CONTROL = /[\u0000-\u001f\u007f]/;
const MEDIA_TYPE = /^[A-Za-z0-9.+-]+\/[A-Za-z0-9.+-]+$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const FIELDS: ReadonlySet<string> = new Set([
  ...['to', 'cc', 'bcc', 'replyTo', 'subject', 'text', 'html', 'attachments', 'headers'],
]);

/** Stands for everything that makes an operation no mail; it says nothing of its content. */
class Unfit {}

const demand = (fit: boolean): void => {
  if (!fit) throw new Unfit();
};

export function isAddress(text: unknown): text is string {
  return typeof text === 'string' && text.length <= 254 && text.indexOf('@') <= 64 && ADDRESS.test(text);
}

const dict = (value: unknown, fields?: ReadonlySet<string>): Dict => {
  demand(typeof value === 'object' && value !== null && !Array.isArray(value));
  demand(!fields || Object.keys(value as Dict).every((name) => fields.has(name)));
  return value as Dict;
};

const line = (value: unknown): string => {
  demand(typeof value === 'string' && !CONTROL.test(value));
  return value as string;
};

const ADDRESS_FIELDS: ReadonlySet<string> = new Set(['name', 'address']);

function oneAddress(value: unknown): { name: string; address: string } {
  const { name = '', address } = typeof value === 'string' ? { address: value } : dict(value, ADDRESS_FIELDS);
  demand(isAddress(address));
  return { name: line(name), address: address as string };
}

const addresses = (value: unknown): { name: string; address: string }[] =>
  value === undefined ? [] : Array.isArray(value) ? value.map(oneAddress) : [oneAddress(value)];

const ATTACHMENT_FIELDS: ReadonlySet<string> = new Set(['filename', 'contentType', 'content']);

function attachment(value: unknown): { filename: string; contentType: string; content: Buffer } {
  const { filename, contentType = 'application/octet-stream', content } = dict(value, ATTACHMENT_FIELDS);
  demand(typeof content === 'string' && content.length % 4 === 0 && BASE64.test(content));
  demand(MEDIA_TYPE.test(line(contentType)));
  const bytes = Buffer.from(content as string, 'base64');
  return { filename: line(filename), contentType: line(contentType), content: bytes };
}

function body(value: unknown): { text?: string; html?: string; subject: string } {
  const { subject, text, html } = dict(value);
  demand(text !== undefined || html !== undefined);
  demand([text, html].every((part) => part === undefined || typeof part === 'string'));
  const parts = { ...(text === undefined ? {} : { text }), ...(html === undefined ? {} : { html }) };
  return { ...(parts as { text?: string; html?: string }), subject: line(subject) };
}

function extraHeaders(value: unknown = {}): Record<string, string> {
  const entries = Object.entries(dict(value));
  demand(entries.every(([name]) => HEADER.test(name)));
  return Object.fromEntries(entries.map(([name, text]) => [name, line(text)]));
}

/** The message between `DATA` and its answer, or `null` when it cannot be sent as it is. */
export function toWire(message: Buffer): Buffer | null {
  const text = message.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n');
  if (/[\u0000\u0080-\u00ff]/.test(text) || /[^\r\n]{999}/.test(text)) return null;
  const stuffed = text.replace(/^\./gm, '..');
  return Buffer.from(`${stuffed}${stuffed.endsWith('\r\n') ? '' : '\r\n'}.\r\n`, 'latin1');
}

/** The mail of an operation, or `null` when the operation is no such mail. */
export async function composeMail(
  Composer: MailComposer,
  operation: unknown,
  from: MailAddress,
  messageId: string,
): Promise<ComposedMail | null> {
  try {
    const given = dict(operation, FIELDS);
    const [to, cc, bcc] = [addresses(given['to']), addresses(given['cc']), addresses(given['bcc'])];
    const recipients = [...new Set([...to, ...cc, ...bcc].map(({ address }) => address))];
    demand(recipients.length > 0 && Array.isArray(given['attachments'] ?? []));
    const composer = new Composer({
      ...body(given),
      from: { name: from.name ?? '', address: from.address },
      to,
      cc, // those of `bcc` stand in no header
      replyTo: addresses(given['replyTo']),
      attachments: ((given['attachments'] ?? []) as unknown[]).map(attachment),
      headers: extraHeaders(given['headers']),
      messageId: `<${messageId}>`,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const wire = toWire(await composer.compile().build());
    return wire === null ? null : { recipients, wire };
  } catch {
    return null; // whatever it was, its text could quote the operation
  }
}
