/**
 * `invocations ls`, `show` and `resolve`: the calls of one session. Invariant: a row is a projection of the log; what a person says of a
 * call is a signed resolution of its plan, handed over at the same door as every other.
 */
import { Option } from 'commander';
import { Contents } from '../../activities/contents';
import { RESOLUTION_OF_CALL } from '../../rules/invocations/call-resolution';
import { ledgerRows, type LedgerRow } from '../../rules/invocations/ledger';
import { callPlace, isCallId } from '../../rules/invocations/names';
import { CALL_RESOLUTIONS, type CallResolution, type InvocationStatus } from '../../rules/invocations/vocabulary';
import { effectRecords } from '../../rules/plans/plan';
import { isReason, type ResolutionClaims } from '../../rules/receipts/claims';
import { isDigest, sha256Digest } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import type { Asked } from '../asked';
import type { Context, Register } from '../command';
import { INVOCATION_EXITS } from '../exit-codes';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import { readBounded } from '../plan-file';
import { MAX_PLAN_BYTES, readPlanText } from '../plan-text';
import { readSession } from '../session-log';
import { contentStore, journalStore, withContentsToShow, withOptions, type Settings } from '../settings';
import { decide, speakingRole, withSigning, type SigningOptions } from '../sign';
import { withAsked } from './approvals';
import { named } from './sessions';

const MOST_EVIDENCE_BYTES = 64 * 1024 * 1024;
const CALL = 'the id of a call, as <session>:<agent version>:<turn>:<round>:<index>';

interface ResolveOptions extends SigningOptions, Settings {
  readonly as: CallResolution;
  readonly externalId?: string;
  readonly result?: string;
  readonly evidence?: string;
  readonly reason?: string;
  readonly mayRunTwice?: boolean;
}

export const invocationsCommand: Register = (program, act) => {
  const invocations = program.command('invocations').description('the calls that sessions made of tools');
  const ls = invocations.command('ls').description('list the calls of one session').argument('<session>', 'its name');
  withOptions(ls, 'journal').action(act('invocations ls', list));
  const show = invocations.command('show').description('show one call').argument('<call>', CALL);
  withOptions(show, 'journal').action(act('invocations show', one));
  const resolve = invocations
    .command('resolve')
    .description('sign what became of a call of which nobody knows, or what is to be done about it')
    .argument('<call>', CALL)
    .addOption(new Option('--as <resolution>', 'what you say of it').choices(CALL_RESOLUTIONS).makeOptionMandatory())
    .option('--external-id <id>', 'of mark_succeeded: what its system calls it')
    .option(
      '--result <file>',
      'of mark_succeeded: the JSON that the model is told; it goes into the content store alone',
    )
    .option(
      '--evidence <file>',
      'of mark_succeeded: by what you know, as a file or its sha256 digest; only the digest is signed',
    )
    .option('--reason <code>', 'of mark_failed: why, as in card_declined; the model is told')
    .option('--may-run-twice', 'of redispatch: you know that it may have happened, and may then happen twice');
  withSigning(withContentsToShow(withOptions(resolve, 'journal')), 'role').action(act('invocations resolve', resolved));
};

async function list(_context: Context, session: string, settings: Settings): Promise<Answer> {
  const { view } = await readSession(journalStore(settings), named(session));
  const rows = ledgerRows(view);
  const lines = table(
    rows.map((row) => [
      row.status,
      `${row.tool}@${row.version}`,
      row.error_code ?? '',
      `attempt ${row.attempt}`,
      row.call_id,
    ]),
  );
  return { data: { session, invocations: rows }, lines: [counted(rows.length, 'call'), ...lines] };
}

async function one(_context: Context, callId: string, settings: Settings): Promise<Answer> {
  const { row, runId } = await rowOf(callId, settings);
  const fields = Object.entries({ ...row, run_id: runId });
  const lines = table(fields.map(([name, value]) => [name, shown(name, value)]));
  return { data: { ...row, runId }, lines, exit: INVOCATION_EXITS[row.status satisfies InvocationStatus] };
}

/** For people, times as every other command has them; scripts get unix milliseconds. */
function shown(name: string, value: string | number | null): string {
  if (value === null) return '-';
  return typeof value === 'number' && name.endsWith('_at') ? new Date(value).toISOString() : String(value);
}

async function resolved(context: Context, callId: string, options: ResolveOptions): Promise<Answer> {
  const { as, externalId = null, mayRunTwice } = options;
  if (as === 'redispatch' && mayRunTwice !== true) {
    const reason = 'a call that is dispatched again may happen twice; say that you know it: --may-run-twice';
    throw new CliError('invalid_argument', reason, 'may-run-twice');
  }
  for (const [name, word] of BELONGS) {
    if (options[name] !== undefined && as !== word) {
      throw new CliError('invalid_argument', `belongs to ${word}`, name === 'externalId' ? 'external-id' : name);
    }
  }
  const said = saidOf(options);
  const { runId } = await rowOf(callId, options);
  return withAsked(runId ?? '', options, async (asked) => {
    const given = said.result === undefined ? {} : { resultDigest: await putResult(asked, said.result.value, options) };
    return decide(
      context,
      asked,
      {
        door: 'resolve',
        claims: (bound, key, question) => ({
          kind: 'resolution',
          ...bound,
          role: speakingRole(key, question, options.role),
          headDigest: question.headDigest,
          resolution: RESOLUTION_OF_CALL[as],
          actionIds: as === 'mark_succeeded' || as === 'redispatch' ? question.doubtful : [],
          externalId,
          ...said.claims,
          ...given,
        }),
      },
      options,
    );
  });
}

const BELONGS = [
  ['externalId', 'mark_succeeded'],
  ['result', 'mark_succeeded'],
  ['evidence', 'mark_succeeded'],
  ['reason', 'mark_failed'],
] as const satisfies readonly (readonly [keyof ResolveOptions, CallResolution])[];

/** Read, and refused, before anything is stored or anybody is asked. */
function saidOf({ result, evidence, reason }: ResolveOptions): {
  readonly result?: { readonly value: unknown };
  readonly claims: Pick<ResolutionClaims, 'evidenceDigest' | 'reason'>;
} {
  if (reason !== undefined && !isReason(reason)) {
    throw new CliError('invalid_argument', 'must be a code of up to 48 letters such as card_declined', 'reason');
  }
  return {
    ...(result === undefined ? {} : { result: { value: readResult(result) } }),
    claims: {
      ...(evidence === undefined ? {} : { evidenceDigest: evidenceDigest(evidence) }),
      ...(reason === undefined ? {} : { reason }),
    },
  };
}

function readResult(file: string): unknown {
  const bytes = readBounded(file, MAX_PLAN_BYTES);
  try {
    return readPlanText(bytes);
  } catch {
    // Not by which of its fields: these are content.
    const reason = 'must be one JSON value of up to 16 MiB, without a field twice or a number that would be rounded';
    throw new CliError('invalid_argument', reason, 'result');
  }
}

function evidenceDigest(given: string): string {
  if (isDigest(given)) return given;
  const bytes = readBounded(given, MOST_EVIDENCE_BYTES);
  if (bytes.length <= MOST_EVIDENCE_BYTES) return sha256Digest(bytes);
  throw new CliError('invalid_argument', 'is larger than 64 MiB; give its sha256 digest instead', 'evidence');
}

/** Under the salt of its run, which the workers made before they sent anything. */
async function putResult({ plan }: Asked, result: unknown, options: ResolveOptions): Promise<string> {
  const contents = new Contents(contentStore(options));
  const [effect] = effectRecords(plan);
  if (effect === undefined || (await contents.knownSalt(plan.runId)) === null) {
    throw new CliError('invalid_argument', 'is not the content store of the workers of this call', 'contents');
  }
  return contents.putResult(plan.runId, effect.idempotencyKey, result);
}

async function rowOf(
  callId: string,
  settings: Settings,
): Promise<{ readonly row: LedgerRow; readonly runId: string | null }> {
  if (!isCallId(callId)) throw new CliError('invalid_argument', `must be ${CALL}`, 'call');
  const { view } = await readSession(journalStore(settings), callPlace(callId).session);
  const row = ledgerRows(view).find((known) => known.call_id === callId);
  if (row === undefined)
    throw new Refusal('unknown_run', 'is no call of its session; see "countersign invocations ls"', callId);
  return { row, runId: view.calls.get(callId)?.runId ?? null };
}
