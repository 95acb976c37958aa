/**
 * `approvals list`, `show`, `request`, `approve`, `reject` and `send`: permission, from the one who signs it to the plan that waits.
 * Invariant: what is signed was shown first; every receipt passes the checks of the door before it is sent.
 */
import type { Command } from 'commander';
import { MAX_TOKEN_CHARACTERS, receiptDigest } from '../../rules/receipts/jws';
import type { ApprovalDecision } from '../../rules/receipts/claims';
import { isDigest } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import { askedAbout, shownData, shownLines, type Asked } from '../asked';
import type { Act, Context, Register } from '../command';
import { CliError } from '../failure';
import type { Answer } from '../output';
import { listWaiting, withLimit, type ListOptions } from '../waiting-plans';
import { namedRun, readBounded } from '../plan-file';
import { doorFor, receiptText } from '../receipt-file';
import { connect } from '../service';
import { contentsToShow, withContentsToShow, type ContentsToShow } from '../settings';
import { decide, handOver, speakingRole, withSigning, type SigningOptions } from '../sign';

const RUN = 'a run id, or the file of its draft or plan';

export const approvalsCommand: Register = (program, act) => {
  const approvals = program.command('approvals').description('the permission that plans wait for');
  const list = approvals.command('list').description('list the plans of a namespace that wait for an approval');
  withLimit(list).action(
    act('approvals list', (_context, options: ListOptions) =>
      listWaiting(options, ({ reason }) => reason === 'approval_missing'),
    ),
  );
  showCommand(approvals, act, 'approvals show');
  const request = approvals.command('request').description('sign that you ask for a plan; you can then not approve it');
  withSigning(withContentsToShow(withPlan(request.argument('<run>', RUN)))).action(
    act('approvals request', (context, run: string, options: PlanOptions) =>
      withAsked(run, options, (asked) => {
        const claims = { kind: 'request' } as const;
        return decide(context, asked, { door: 'approve', claims: (bound) => ({ ...claims, ...bound }) }, options);
      }),
    ),
  );
  decision(approvals, act, 'approve', 'sign that a plan may be carried out, and hand that over');
  decision(approvals, act, 'reject', 'sign that a plan must not be carried out, which ends it');
  approvals
    .command('send')
    .description('hand over a receipt that was signed elsewhere, of any kind')
    .argument('<run>', RUN)
    .argument('<receipt>', 'the file of a receipt')
    .action(act('approvals send', send));
};

/** `show` of approvals and of reviews: one plan has one question. */
export function showCommand(family: Command, act: Act, name: string): void {
  const show = family
    .command('show')
    .description('show what is asked about a plan: its effects and digests, from whom, and what is there already')
    .argument('<run>', RUN);
  withContentsToShow(show).action(
    act(name, (_context, run: string, options: ContentsToShow) =>
      withAsked(run, options, (asked) => Promise.resolve({ data: shownData(asked), lines: shownLines(asked) })),
    ),
  );
}

interface PlanOptions extends SigningOptions, ContentsToShow {
  readonly plan?: string;
}

function withPlan(command: Command): Command {
  return command.option('--plan <digest>', 'the plan that you saw; any other is refused');
}

function decision(family: Command, act: Act, said: ApprovalDecision, description: string): void {
  const command = family.command(said).description(description).argument('<run>', RUN);
  withSigning(withContentsToShow(withPlan(command)), 'role').action(
    act(`approvals ${said}`, (context, run: string, options: PlanOptions) =>
      withAsked(run, options, (asked) => {
        if (asked.question?.asksApproval === false) {
          throw new Refusal('receipt_not_wanted', 'no approval is asked here; see "countersign reviews show"');
        }
        return decide(context, asked, approvalOf(said, options.role), options);
      }),
    ),
  );
}

function approvalOf(said: ApprovalDecision, role: string | undefined): Parameters<typeof decide>[2] {
  return {
    door: 'approve',
    claims: (bound, key, question) => ({
      kind: 'approval',
      ...bound,
      role: speakingRole(key, question, role),
      decision: said,
    }),
  };
}

/** `plan`: the digest that was given as seen. */
export async function withAsked(
  run: string,
  { plan, ...shown }: ContentsToShow & { readonly plan?: string },
  act: (asked: Asked) => Promise<Answer>,
): Promise<Answer> {
  if (plan !== undefined && !isDigest(plan)) {
    throw new CliError('invalid_argument', '--plan must be "sha256:" and 64 lowercase hex digits', 'plan');
  }
  const named = namedRun(run);
  const contents = contentsToShow(shown);
  const service = await connect({ taskQueue: '' });
  try {
    const asked = await askedAbout(service, named, contents);
    if (plan !== undefined && plan !== asked.plan.planDigest) {
      throw new Refusal('receipt_wrong_plan', `is not the plan of this run, which is ${asked.plan.planDigest}`, 'plan');
    }
    return await act(asked);
  } finally {
    await service.close();
  }
}

async function send(context: Context, run: string, file: string): Promise<Answer> {
  const token = receiptText(readBounded(file, MAX_TOKEN_CHARACTERS + 2));
  return withAsked(run, {}, (asked) => {
    const signed = { receipt: receiptDigest(token), planDigest: asked.plan.planDigest };
    return handOver(context, asked, doorFor(token), token, { signed, line: `receipt ${signed.receipt}` });
  });
}
