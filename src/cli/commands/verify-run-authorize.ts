/**
 * `verify-run authorize`: a person's permission for exactly one launch. Invariant: what is signed was shown first, and is what the run
 * asks for at that moment; a receipt permits one launch and is never used again.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Option, type Command } from 'commander';
import { KeyFolder } from '../../adapters/reviewers';
import type { RunStatus, VerificationHandle, WantedReceipt } from '../../client';
import { launchClaimsFromRecord } from '../../rules/receipts/launch-claims';
import { MAX_TOKEN_CHARACTERS, receiptDigest, signReceipt } from '../../rules/receipts/jws';
import { isRole } from '../../rules/receipts/names';
import type { SigningKey } from '../../rules/receipts/signing-key';
import { Refusal } from '../../rules/refusal';
import type { Act, Context } from '../command';
import { CLI_EXITS } from '../exit-codes';
import { CliError } from '../failure';
import type { Answer } from '../output';
import { readBounded } from '../plan-file';
import { receiptText } from '../receipt-file';
import { connect, verificationRuns, type Service } from '../service';
import { duration, unlessInterrupted, writeReceipt } from '../sign';
import { concluded, statusOf } from '../verify-run/follow-run';
import { namedVerification } from '../verify-run/named';
import { wantedLines } from '../verify-run/view';
import { withKeys, type KeySettings } from './keys';

const LOOK_PAUSE_MS = 200;
const LONGEST_LOOK_MS = 10_000;

interface AuthorizeOptions extends KeySettings {
  readonly key?: string;
  readonly receipt?: string;
  readonly role?: string;
  /** Seconds. */
  readonly validFor: number;
  readonly out?: string;
}

export function addAuthorize(family: Command, act: Act): void {
  const command = family
    .command('authorize')
    .description('sign that the launch for which a run waits may be made, once, and hand that over')
    .argument('<run>', 'a run id, or the id of its workflow')
    .option('--key <name>', 'the key of yours that signs')
    .option('--role <role>', 'the role in which you authorize; needed if your key holds several')
    .addOption(new Option('--valid-for <time>', 'as in 15m, 1h or 1d').argParser(duration).default(86_400, '1d'))
    .option('--out <file>', 'write the receipt into a new file instead of handing it over')
    .option('--receipt <file>', 'hand over this receipt, signed elsewhere, instead of signing');
  withKeys(command).action(act('verify-run authorize', authorize));
}

async function authorize(context: Context, run: string, options: AuthorizeOptions): Promise<Answer> {
  const runId = namedVerification(run);
  if ((options.key === undefined) === (options.receipt === undefined)) {
    throw new CliError('invalid_argument', 'say which key signs, --key NAME, or which receipt, --receipt FILE', 'key');
  }
  const given =
    options.receipt === undefined ? null : receiptText(readBounded(options.receipt, MAX_TOKEN_CHARACTERS + 2));
  const key = options.key === undefined ? null : await new KeyFolder(options.keys).read(options.key);
  const service = await connect({ taskQueue: '' });
  try {
    const handle = verificationRuns(service, '', {}).handle(runId);
    await service.soon(() => handle.workflow.describe());
    const status = await statusOf(service, handle);
    if (status === null)
      throw new CliError('service_failed', 'no worker answers for the run; start one of its task queue');
    const { wants } = status;
    if (wants === null) throw notWanted(status);
    for (const line of wantedLines(status)) context.output.say(line);
    const handing = { service, handle, jobId: wants.job_id };
    if (given !== null) return await handOver(context, handing, given);
    const token = signedFor(wants, key as SigningKey, options);
    if (options.out === undefined) return await handOver(context, handing, token);
    writeReceipt(options.out, token);
    const signed = { receipt: receiptDigest(token), jobId: wants.job_id, claims: wants.claims, out: options.out };
    return { data: signed, lines: [`receipt ${signed.receipt} written to ${options.out}; not handed over`] };
  } finally {
    await service.close();
  }
}

function signedFor({ claims }: WantedReceipt, key: SigningKey, { role, validFor }: AuthorizeOptions): string {
  const iat = Math.floor(Date.now() / 1_000);
  const jti = `nonce_${randomBytes(16).toString('hex')}`;
  return signReceipt(
    launchClaimsFromRecord({ ...claims, role: speaking(key, role), jti, iat, exp: iat + validFor }),
    key,
  );
}

function speaking({ roles }: SigningKey, named: string | undefined): string {
  if (named !== undefined && !isRole(named)) {
    throw new CliError('invalid_argument', 'a role is written as role:example.org/approver', 'role');
  }
  if (named === undefined && roles.length > 1) {
    throw new CliError('invalid_argument', `say in which role you authorize: --role ${roles.join(' or ')}`, 'role');
  }
  return named ?? (roles[0] as string);
}

function notWanted({ outcome, phase }: RunStatus): Refusal {
  return new Refusal(
    'receipt_not_wanted',
    `no receipt is waited for: the run is ${outcome ?? phase.replaceAll('_', ' ')}`,
  );
}

interface Handing {
  readonly service: Service;
  readonly handle: VerificationHandle;
  readonly jobId: string;
}

async function handOver({ interrupted }: Context, handing: Handing, token: string): Promise<Answer> {
  const receipt = receiptDigest(token);
  const become = handing.handle.authorize(token).then((status) => onceItMoved(handing, status, interrupted));
  const status = await unlessInterrupted(become, interrupted);
  if (status === null) {
    const message = 'the receipt was handed over; look where it leads with "countersign verify-run status"';
    return { data: { receipt }, failure: { code: 'interrupted', message, field: null, exit: CLI_EXITS.interrupted } };
  }
  const { failure: _waits, ...answer } = concluded(status);
  return {
    ...answer,
    data: { receipt, status },
    lines: [`receipt ${receipt} handed over`, ...(answer.lines ?? [])],
    exit: 'done',
  };
}

/** What it has become: a run hands a launch off a moment after its receipt. One that takes longer is told as it stands. */
async function onceItMoved(
  { service, handle, jobId }: Handing,
  handedOver: RunStatus,
  interrupted: AbortSignal,
): Promise<RunStatus> {
  const until = performance.now() + LONGEST_LOOK_MS;
  let status = handedOver;
  while (!hasMoved(status, jobId) && performance.now() < until && !interrupted.aborted) {
    await sleep(LOOK_PAUSE_MS);
    status = (await statusOf(service, handle)) ?? status;
  }
  return status;
}

function hasMoved({ jobs, outcome, phase }: RunStatus, jobId: string): boolean {
  const job = jobs.find(({ job_id: id }) => id === jobId);
  return outcome !== null || phase === 'launched' || (job !== undefined && job.state !== 'prepared');
}
