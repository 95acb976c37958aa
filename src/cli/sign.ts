/**
 * A person's decision, signed about exactly what they were shown. Invariant: a receipt is bound to the question in hand and to
 * nothing that is asked later; what no door would admit is not sent.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { KeyFolder } from '../adapters/reviewers';
import type { PlanStatus, Question } from '../client';
import { mayDecide } from '../rules/receipts/approval-rule';
import type { Claims, RequestClaims } from '../rules/receipts/claims';
import { receiptDigest, signReceipt } from '../rules/receipts/jws';
import { isRole } from '../rules/receipts/names';
import { admitAnswer, type Answer as Door } from '../rules/receipts/question';
import type { SigningKey } from '../rules/receipts/signing-key';
import { Refusal } from '../rules/refusal';
import { withKeys, type KeySettings } from './commands/keys';
import { shownData, shownLines, standingOf, type Asked } from './asked';
import type { Context } from './command';
import { CLI_EXITS } from './exit-codes';
import { CliError } from './failure';
import { progress } from './follow';
import type { Answer } from './output';

export interface SigningOptions extends KeySettings {
  readonly key: string;
  readonly role?: string;
  /** Seconds. */
  readonly validFor: number;
  readonly out?: string;
}

export function withSigning(command: Command, ...more: readonly 'role'[]): Command {
  command.requiredOption('--key <name>', 'the key of yours that signs');
  if (more.includes('role'))
    command.option('--role <role>', 'the role in which you decide; needed if several would do');
  command.addOption(
    new Option('--valid-for <time>', 'as in 30s, 15m, 1h or 7d').argParser(duration).default(3_600, '1h'),
  );
  command.option('--out <file>', 'write the receipt into a new file instead of handing it over');
  return withKeys(command);
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

export function duration(text: string): number {
  const [, count = '', unit = ''] = /^([1-9][0-9]{0,6})([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new InvalidArgumentError('it must be a whole number of s, m, h or d, as in 15m.');
}

/** Journal, run, lineage and plan of the question; times of now. */
export type Binding = Omit<RequestClaims, 'kind'>;

export interface Decision {
  readonly door: Door;
  readonly claims: (binding: Binding, key: SigningKey, question: Question) => Claims;
}

export async function decide(
  context: Context,
  asked: Asked,
  { door, claims }: Decision,
  options: SigningOptions,
): Promise<Answer> {
  const { question, status } = asked;
  if (question === null) throw nothingAsked(status);
  const key = await new KeyFolder(options.keys).read(options.key);
  for (const line of shownLines(asked)) context.output.say(line);
  const now = Date.now();
  const iat = Math.floor(now / 1000);
  const { journalId, runId, lineage, planDigest } = question;
  const jti = `nonce_${randomBytes(16).toString('hex')}`;
  const said = claims({ journalId, runId, lineage, planDigest, jti, iat, exp: iat + options.validFor }, key, question);
  const token = signReceipt(said, key);
  const until = new Date(said.exp * 1000).toISOString();
  const signed = {
    receipt: receiptDigest(token),
    kid: key.kid,
    planDigest,
    lineage,
    expiresAt: until,
    shown: shownData(asked),
  };
  const line = `signed with key ${key.kid}, valid until ${until}: receipt ${signed.receipt}`;
  if (options.out === undefined) return handOver(context, asked, door, token, { signed, line });
  // For this door; the one where it is handed over asks anew.
  const admission = admitAnswer(token, question, now, door);
  if (!admission.ok && admission.refusal.code !== 'receipt_unknown_key') throw admission.refusal;
  writeReceipt(options.out, token);
  return { data: { ...signed, out: options.out }, lines: [line, `written to ${options.out}; not handed over`] };
}

/** Sends a receipt, and tells where that led. */
export async function handOver(
  { interrupted }: Context,
  { handle }: Asked,
  door: Door,
  token: string,
  { signed, line }: { readonly signed: Record<string, unknown>; readonly line: string },
): Promise<Answer> {
  const sent = door === 'approve' ? handle.approve(token) : handle.resolve(token);
  const status = await unlessInterrupted(sent, interrupted);
  if (status === null) {
    const message = 'the receipt was handed over; look where it leads with "countersign inspect"';
    return { data: signed, failure: { code: 'interrupted', message, field: null, exit: CLI_EXITS.interrupted } };
  }
  return { data: { ...signed, status }, lines: [line, `handed over:${progress(status).replace(/^ +/, ' ')}`] };
}

/** Null when Ctrl-C came first. What was sent goes on. */
export async function unlessInterrupted<T>(sent: Promise<T>, interrupted: AbortSignal): Promise<T | null> {
  sent.catch(() => undefined);
  const stopped = new Promise<null>((resolve) => {
    if (interrupted.aborted) resolve(null);
    interrupted.addEventListener('abort', () => resolve(null), { once: true });
  });
  return Promise.race([sent, stopped]);
}

/** The role in which a key speaks: the one that was named, or the only one that may decide here. */
export function speakingRole({ roles }: SigningKey, { rules }: Question, named: string | undefined): string {
  if (named !== undefined) {
    if (isRole(named)) return named;
    throw new CliError('invalid_argument', 'a role is written as role:example.org/approver', 'role');
  }
  const able = roles.filter((role) => rules.length === 0 || rules.some((rule) => mayDecide(rule, role)));
  if (able.length > 1) {
    throw new CliError('invalid_argument', `say in which role you decide: --role ${able.join(' or ')}`, 'role');
  }
  // Of a key without a role that may decide, the door says so.
  return able[0] ?? (roles[0] as string);
}

export function nothingAsked(status: PlanStatus): Refusal {
  return status.reason === 'reviewers_unavailable'
    ? new Refusal('reviewers_unavailable', 'the workers cannot have the reviewers’ keys; make them reachable first')
    : new Refusal('receipt_not_wanted', `nothing is asked of anybody here; ${standingOf(status)}`);
}

export function writeReceipt(file: string, token: string): void {
  try {
    writeFileSync(file, `${token}\n`, { flag: 'wx', mode: 0o600 });
  } catch {
    throw new CliError('output_exists', `${file} cannot be written as a new file; choose another name`, 'out');
  }
}
