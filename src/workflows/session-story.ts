/**
 * What the Temporal Web UI shows of a session, and what it is found by there. Invariant: names, counts and codes only; a memo is written
 * where the session rests.
 */
import { setCurrentDetails, upsertMemo } from '@temporalio/workflow';
import { isFinished } from '../rules/invocations/vocabulary';
import type { HeldUp, ToolSessionStatus } from './session-messages';
import { SessionSearch } from './session-search';

const MOST_ROWS = 40;
/** Where a list of executions must not say what is over. */
const RESTS: readonly ToolSessionStatus['status'][] = ['awaiting_input', 'awaiting_approval'];

export class SessionStory {
  /** What the memo says. */
  private memo: ToolSessionStatus['status'] | null = null;
  private readonly search = new SessionSearch();

  /** In the Web UI alone: no command comes of it. */
  show(status: ToolSessionStatus): void {
    setCurrentDetails(details(status));
  }

  tell(status: ToolSessionStatus): void {
    this.show(status);
    this.search.tell(
      status.status,
      status.calls.filter((call) => !isFinished(call.status)),
    );
    const rests = RESTS.includes(status.status);
    if (status.status === this.memo || (!rests && this.memo === null)) return;
    this.memo = rests ? status.status : null;
    upsertMemo({ countersign_session: { status: status.status, turn: status.turn } });
  }
}

function details({
  session_id,
  status,
  failure,
  held_up,
  turn,
  round,
  tokens,
  calls,
  pending_messages,
}: ToolSessionStatus): string {
  const rows = calls.slice(0, MOST_ROWS).map(({ call_id, tool, version, status: state, code, review }) => {
    return `| \`${call_id}\` | ${tool}@${version ?? 'default'} | ${state} | ${code ?? ''} | ${review ?? ''} |`;
  });
  const rest = calls.length - rows.length;
  return [
    `**${status}**${failure === null ? '' : ` (${failure})`}, session \`${session_id}\`, turn ${turn}, round ${round}`,
    ...(held_up === null ? [] : ['', wordsOfHeldUp(held_up)]),
    '',
    `${tokens.input + tokens.output} tokens; ${pending_messages} messages wait`,
    ...(rows.length === 0 ? [] : ['', '| call | tool | status | why | people answer at |', '|-|-|-|-|-|', ...rows]),
    ...(rest > 0 ? ['', `and ${rest} more`] : []),
  ].join('\n');
}

function wordsOfHeldUp({ code, about, since }: HeldUp): string {
  const what = about === null ? '' : `, about \`${about}\``;
  return `held up since ${new Date(since).toISOString()}: **${code}**${what}; it goes on as soon as a worker can do it`;
}
