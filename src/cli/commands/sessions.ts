/**
 * `sessions ls`, `inspect`, `attach`, `cancel` and `complete`. Invariant: what a session did is told by its log in the journal, which is
 * read as whoever audits it does; what holds it up now, which no log says, is asked of Temporal where it answers; only `cancel` and
 * `complete` change anything.
 */
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { SessionClient, type SessionHandle, type ToolSessionStatus } from '../../client';
import { ledgerRows } from '../../rules/invocations/ledger';
import { nextSessionStep } from '../../rules/invocations/next-session-step';
import { timelineOf, type TimelineEntry } from '../../rules/invocations/timeline';
import { isSessionName, sessionOfWorkflow, sessionWorkflowId } from '../../rules/invocations/names';
import { SESSION_STATUSES, isEnded, type SessionStatus } from '../../rules/invocations/vocabulary';
import type { Context, Register } from '../command';
import { SESSION_EXITS } from '../exit-codes';
import { CliError } from '../failure';
import { heldUpOf, wordsOfHeldUp, type HeldUpTries } from '../held-up';
import { counted, table, type Answer } from '../output';
import { printable } from '../printable';
import { connect, type Service } from '../service';
import { readSession } from '../session-log';
import { contentStore, hasContents, journalStore, withOptions, type Settings } from '../settings';
import { wordsOfStep } from '../session-step-row';
import { timesOfEntry, wordsOfEntry } from '../timeline-row';

const SESSION = 'the name of a session';

interface ListOptions {
  readonly limit: string;
  readonly all?: boolean;
}

export const sessionsCommand: Register = (program, act) => {
  const sessions = program.command('sessions').description('the sessions of agents: their turns, calls and logs');
  sessions
    .command('ls')
    .description('list the sessions of a namespace')
    .option('--limit <count>', 'look at so many at most', '100')
    .option('--all', 'those that have ended, too')
    .action(act('sessions ls', list));
  const of = (name: string, description: string): ReturnType<typeof sessions.command> =>
    sessions.command(name).description(description).argument('<session>', SESSION);
  withOptions(of('inspect', 'show one session as one line of time, from its log'), 'journal').action(
    act('sessions inspect', inspect),
  );
  withOptions(of('attach', 'show the events of a session as they come, with what was said'), 'journal', 'contents')
    .option('--after <sequence>', 'only events after this one', '0')
    .action(act('sessions attach', attach));
  of('cancel', 'dispatch nothing more and end the session').action(
    act('sessions cancel', (_context, session: string) => ended(session, (handle) => handle.cancel())),
  );
  of('complete', 'end the session when the turn under way is over').action(
    act('sessions complete', (_context, session: string) => ended(session, (handle) => handle.complete())),
  );
};

async function list(_context: Context, { limit, all }: ListOptions): Promise<Answer> {
  const most = whole(limit, 'limit');
  const service = await connect({ taskQueue: '' });
  try {
    const running = all === true ? '' : " AND ExecutionStatus = 'Running'";
    const found = await service.soon(async () => {
      const executions: [string, WorkflowExecutionInfo][] = [];
      for await (const one of service.client.workflow.list({ query: `WorkflowType = 'toolSession'${running}` })) {
        const session = sessionOfWorkflow(one.workflowId);
        if (session !== null) executions.push([session, one]);
        if (executions.length >= most) break;
      }
      return executions;
    });
    const rows: Row[] = [];
    for (let at = 0; at < found.length; at += AT_ONCE) {
      rows.push(...(await Promise.all(found.slice(at, at + AT_ONCE).map(([name, one]) => rowOf(service, name, one)))));
    }
    const lines = table(
      rows.map(({ session, status, turn, startedAt, heldUp }) => [
        ...[status, `turn ${turn ?? '-'}`, startedAt, session],
        ...(heldUp === null ? [] : [wordsOfHeldUp(heldUp)]),
      ]),
    );
    return { data: { sessions: rows }, lines: [counted(rows.length, 'session'), ...lines] };
  } finally {
    await service.close();
  }
}

/** Ends that are looked up at once. */
const AT_ONCE = 16;

interface Row {
  readonly session: string;
  readonly status: string;
  readonly turn: number | null;
  readonly startedAt: string;
  /** Null while nothing is known to hold it up. */
  readonly heldUp: HeldUpTries | null;
}

async function rowOf(
  service: Service,
  session: string,
  { workflowId, runId, status, memo, startTime }: WorkflowExecutionInfo,
): Promise<Row> {
  const startedAt = startTime.toISOString();
  const said = shownBy(memo?.['countersign_session']);
  // A memo comes with the first rest, and between two turns a session rests.
  if (status.name === 'RUNNING') {
    const stands = said.status ?? 'running';
    const heldUp = stands === 'awaiting_input' ? null : await heldUpOf(service, workflowId);
    return { session, status: stands, turn: said.turn ?? 1, startedAt, heldUp };
  }
  const end = status.name === 'COMPLETED' ? await endOf(service, workflowId, runId) : {};
  const turn = end.turn ?? said.turn ?? null;
  return { session, status: end.status ?? status.name.toLowerCase(), turn, startedAt, heldUp: null };
}

/** Its own last word: a memo is written where a session rests, so it may not say the end. Empty where it cannot be read here. */
async function endOf({ client, soon }: Service, workflowId: string, runId: string): Promise<Shown> {
  try {
    const handle = client.workflow.getHandle(workflowId, runId, { followRuns: false });
    return shownBy(await soon(() => handle.result()));
  } catch {
    return {};
  }
}

/** What the memo of a session says, and its result. */
interface Shown {
  readonly status?: SessionStatus;
  readonly turn?: number;
}

function shownBy(value: unknown): Shown {
  const { status, turn } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const known = SESSION_STATUSES.find((one) => one === status);
  return {
    ...(known === undefined ? {} : { status: known }),
    ...(Number.isSafeInteger(turn) ? { turn: turn as number } : {}),
  };
}

async function inspect(_context: Context, session: string, settings: Settings): Promise<Answer> {
  const { records, view, head } = await readSession(journalStore(settings), named(session));
  const calls = ledgerRows(view);
  const timeline = timelineOf(records);
  const next = nextSessionStep(view, Date.now());
  const heldUp = isEnded(view.status) || view.status === 'awaiting_input' ? null : await heldUpNow(session);
  const lines = [
    `session ${session}: ${view.status}, turn ${view.turn}, ${counted(view.tokens, 'token')}`,
    `log: ${counted(records.length, 'event')}, head ${head?.digest ?? 'none'}`,
    ...(isEnded(view.status) ? [] : [`next: ${wordsOfStep(next)}`]),
    ...(heldUp === null ? [] : [wordsOfHeldUp(heldUp)]),
    '',
    ...table(timeline.map(entryRow)),
  ];
  const data = {
    session,
    status: view.status,
    turn: view.turn,
    tokens: view.tokens,
    head,
    next,
    heldUp,
    calls,
    timeline,
  };
  return { data, lines, exit: SESSION_EXITS[view.status] };
}

/** A log is read without any server; where none answers, this is not known. */
async function heldUpNow(session: string): Promise<HeldUpTries | null> {
  const service = await connect({ taskQueue: '' }).catch(() => null);
  if (service === null) return null;
  try {
    return await heldUpOf(service, sessionWorkflowId(session));
  } finally {
    await service.close();
  }
}

function entryRow(entry: TimelineEntry): readonly string[] {
  const { at, type, callId } = entry;
  return [new Date(at).toISOString(), type, callId ?? '', wordsOfEntry(entry), timesOfEntry(entry)];
}

async function attach(
  { output, interrupted }: Context,
  session: string,
  { after, ...settings }: Settings & { readonly after: string },
): Promise<Answer> {
  const [journal, first] = [journalStore(settings), whole(after, 'after')];
  await readSession(journal, named(session));
  const contents = hasContents(settings) ? contentStore(settings) : undefined;
  const service = await connect({ taskQueue: '' });
  try {
    const client = new SessionClient({
      ...{ client: service.client, store: journal, taskQueue: '' },
      contents: contents ?? journal,
    });
    let last = first;
    const events: unknown[] = [];
    for await (const event of client.getHandle(session).attach({ after: first, signal: interrupted })) {
      last = event.sequence;
      events.push({ sequence: event.sequence, at: event.at, type: event.type, body: event.body });
      const said = typeof event.content === 'string' ? `  ${shownText(event.content)}` : '';
      output.say(`${event.sequence}  ${new Date(event.at).toISOString()}  ${event.type}${said}`);
    }
    const exit = interrupted.aborted ? { exit: 'interrupted' as const } : {};
    return { data: { session, last, events }, ...exit };
  } finally {
    await service.close();
  }
}

/** Its further lines are indented, so that none of them passes for an event. */
function shownText(text: string): string {
  return text.split('\n').map(printable).join('\n    ');
}

async function ended(session: string, end: (handle: SessionHandle) => Promise<ToolSessionStatus>): Promise<Answer> {
  const service = await connect({ taskQueue: '' });
  try {
    const status = await end(handleOf(service, named(session)));
    const lines = [`session ${session}: ${status.status}, ${counted(status.turn, 'turn')}`];
    return { data: status, lines, exit: isEnded(status.status) ? 'done' : 'service_failure' };
  } finally {
    await service.close();
  }
}

/** Of a session that is only asked: it reads and writes no store. */
function handleOf({ client }: Service, session: string): SessionHandle {
  const nothing = { scope: 'host', create: never, read: never, list: never } as const;
  return new SessionClient({ client, store: nothing, contents: nothing, taskQueue: '' }).getHandle(session);
}

function never(): Promise<never> {
  return Promise.reject(new CliError('invalid_argument', 'this needs no store'));
}

export function named(session: string): string {
  if (isSessionName(session)) return session;
  throw new CliError('invalid_argument', 'must be 1 to 64 characters of [A-Za-z0-9._-]', 'session');
}

export function whole(text: string, field: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new CliError('invalid_argument', 'must be a whole number', field);
}
