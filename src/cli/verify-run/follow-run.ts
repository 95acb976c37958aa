/**
 * Following a verification run from outside. Invariant: it only asks; whether it ends by a result, a wanted receipt or Ctrl-C, the
 * run itself goes on exactly as it would have.
 */
import type { RunStatus, VerificationHandle } from '../../client';
import { CLI_EXITS, RUN_EXITS } from '../exit-codes';
import type { Answer } from '../output';
import type { Service } from '../service';
import { progressOf, statusLines } from './view';

const FIRST_POLL_MS = 150;
const LONGEST_POLL_MS = 2_000;

export interface FollowRunOptions {
  /** Keep following a run that waits for a receipt. */
  readonly wait: boolean;
  readonly taskQueue: string;
  readonly interrupted: AbortSignal;
  readonly say: (line: string) => void;
}

/** To its end, to a receipt that it waits for, or to Ctrl-C. Throws what the execution failed with. */
export async function followRun(
  service: Service,
  runId: string,
  started: Promise<VerificationHandle>,
  options: FollowRunOptions,
): Promise<Answer> {
  const interrupted = aborted(options.interrupted);
  const saying = { told: '' };
  const say = (line: string): void => {
    if (line !== saying.told) options.say(line);
    saying.told = line;
  };
  const silent = `  no worker answers yet on task queue "${options.taskQueue}"; the run waits for one`;
  let handle: VerificationHandle | null = null;
  while (handle === null) {
    const first = await Promise.race([started, interrupted, elapsed(LONGEST_POLL_MS)]);
    if (first === 'interrupted') return left(runId);
    if (first === null) say(silent);
    else handle = first;
  }
  const result = handle.result();
  result.catch(() => undefined);
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 1.5, LONGEST_POLL_MS)) {
    const first = await Promise.race([result, interrupted, statusOf(service, handle)]);
    if (first === 'interrupted') return left(runId);
    say(first === null ? silent : progressOf(first));
    if (first?.phase === 'closed') return concluded(first);
    if (first?.phase === 'waiting_for_receipt' && first.wants !== null && !options.wait) return concluded(first);
    const rested = await Promise.race([result, interrupted, elapsed(pause)]);
    if (rested === 'interrupted') return left(runId);
  }
}

/** A run as it stands, with the exit code that scripts see. */
export function concluded(status: RunStatus): Answer {
  const state = status.outcome ?? (status.wants === null ? 'open' : 'receipt_wanted');
  const exit = RUN_EXITS[state];
  const answer = { data: status, lines: statusLines(status) };
  switch (state) {
    case 'completed':
    case 'open':
      return { ...answer, exit };
    case 'receipt_wanted': {
      const message = `a person must authorize the launch: countersign verify-run authorize ${status.run_id} --key NAME`;
      return { ...answer, failure: { code: state, message, field: null, exit } };
    }
    case 'incomplete': {
      const ended = status.jobs.find(({ reason }) => reason !== null);
      const message = `the run ended without all results${ended === undefined ? '' : `: ${ended.reason}`}; nothing is launched again`;
      return { ...answer, failure: { code: 'run_incomplete', message, field: null, exit } };
    }
  }
}

/** Null when no worker answers in time. */
export async function statusOf(service: Service, handle: VerificationHandle): Promise<RunStatus | null> {
  try {
    return await service.soon(() => handle.status());
  } catch {
    return null;
  }
}

function left(runId: string): Answer {
  const message = `the run goes on without you; look at it with: countersign verify-run status ${runId}`;
  return { data: { runId }, failure: { code: 'interrupted', message, field: null, exit: CLI_EXITS.interrupted } };
}

function aborted(signal: AbortSignal): Promise<'interrupted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('interrupted');
    signal.addEventListener('abort', () => resolve('interrupted'), { once: true });
  });
}

function elapsed(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms));
}
