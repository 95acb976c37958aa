/**
 * `reviews list`, `show` and `resolve`: what could not be proved, and a person's signed answer. Invariant: an answer is bound to the
 * head that its person names as seen; a head that has moved refuses it.
 */
import { Option } from 'commander';
import { RESOLUTIONS, type Resolution } from '../../rules/receipts/claims';
import { isActionId, isDigest } from '../../rules/recovery';
import type { Context, Register } from '../command';
import { CliError } from '../failure';
import type { Answer } from '../output';
import { withContentsToShow, type ContentsToShow } from '../settings';
import { decide, speakingRole, withSigning, type SigningOptions } from '../sign';
import { listWaiting, withLimit, type ListOptions } from '../waiting-plans';
import { showCommand, withAsked } from './approvals';

interface ResolveOptions extends SigningOptions, ContentsToShow {
  readonly resolution: Resolution;
  readonly head: string;
  readonly actions?: readonly string[];
  readonly externalId?: string;
}

export const reviewsCommand: Register = (program, act) => {
  const reviews = program
    .command('reviews')
    .description('the questions of plans that could not prove what became of them');
  const list = reviews
    .command('list')
    .description('list the plans of a namespace that wait for a person, but for an approval');
  withLimit(list).action(
    act('reviews list', (_context, options: ListOptions) =>
      listWaiting(options, ({ reason }) => reason !== 'approval_missing'),
    ),
  );
  showCommand(reviews, act, 'reviews show');
  const answer = reviews
    .command('resolve')
    .description('sign an answer to what a plan is in doubt about, and hand that over')
    .argument('<run>', 'a run id, or the file of its draft or plan')
    .addOption(new Option('--resolution <answer>', 'your answer').choices(RESOLUTIONS).makeOptionMandatory())
    .requiredOption('--head <digest>', 'the head that you saw; a plan that has moved on refuses the answer')
    .option('--actions <id...>', 'for mark_committed and mark_absent: the actions that you speak of')
    .option('--external-id <id>', 'for mark_committed of one action: what its sink calls it');
  withSigning(withContentsToShow(answer), 'role').action(act('reviews resolve', resolve));
};

async function resolve(context: Context, run: string, options: ResolveOptions): Promise<Answer> {
  const { resolution, head, actions = [], externalId } = options;
  if (!isDigest(head)) throw wrong('head', '--head must be "sha256:" and 64 lowercase hex digits');
  if (!actions.every(isActionId)) throw wrong('actions', '--actions are "act_" and 32 lowercase hex digits');
  const marks = resolution === 'mark_committed' || resolution === 'mark_absent';
  if (marks && actions.length === 0) {
    throw wrong('actions', `${resolution} needs the --actions that you speak of; "reviews show" lists those in doubt`);
  }
  if (!marks && actions.length > 0) throw wrong('actions', '--actions belong to mark_committed and mark_absent');
  if (externalId !== undefined && (resolution !== 'mark_committed' || actions.length !== 1)) {
    throw wrong('external_id', '--external-id belongs to mark_committed of one action');
  }
  return withAsked(run, options, (asked) =>
    decide(
      context,
      asked,
      {
        door: 'resolve',
        claims: (bound, key, question) => ({
          kind: 'resolution',
          ...bound,
          role: speakingRole(key, question, options.role),
          headDigest: head,
          resolution,
          actionIds: actions,
          externalId: externalId ?? null,
        }),
      },
      options,
    ),
  );
}

function wrong(field: string, reason: string): CliError {
  return new CliError('invalid_argument', reason, field);
}
