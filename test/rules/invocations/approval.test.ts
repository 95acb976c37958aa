/**
 * Questions to people.
 *
 * Held here:
 * - distinct people, and never the one who asked, make up the quorum; the same person twice is refused; one rejection ends it;
 * - a vote 1 ms before the expiry counts, at it and behind it none does; what is closed answers its status, unchanged;
 * - a vote about other arguments is refused, and other arguments or another call are another question;
 * - of two open questions, deciding one leaves the other as it is;
 * - at its expiry a question denies, allows or goes to the next people, at most five times, as its rule says; before, nothing happens;
 * - the order of approvals changes nothing.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  APPROVAL_STATUSES,
  MOST_ESCALATIONS,
  approvalIdOf,
  askApproval,
  castVote,
  expireApproval,
  isApprovalId,
  type Approval,
  type ApprovalTerms,
  type OnTimeout,
} from '../../../src/rules/invocations/approval';
import { T0, callId, digest } from './support';

const ROLES = Array.from({ length: 6 }, (_, index) => `role:example.org/r${index}`);
const [ANN, BOB, CAI] = ['ann', 'bob', 'cai'].map(digest) as [string, string, string];
const ASKER = digest('asker');
const TERMS: ApprovalTerms = {
  rule: 'over-100',
  route: ROLES[0] as string,
  approvals: 2,
  expiryMs: 1_000,
  onTimeout: 'deny',
  onRejection: 'return_to_agent',
};
const ask = (more: Partial<ApprovalTerms> = {}, index = 0): Approval =>
  askApproval({
    session: 's1',
    subject: { callId: callId(index), argsDigest: digest('args'), limit: null },
    reason: 'policy',
    terms: { ...TERMS, ...more },
    question: 1,
    at: T0,
  });
const vote = (person: string, decision: 'approve' | 'reject' = 'approve', at = T0) =>
  ({ person, decision, at, requester: ASKER, argsDigest: digest('args') }) as const;

describe('votes', () => {
  it('of two people approve, and only that call', () => {
    const sibling = ask({}, 1);
    const one = castVote(ask(), vote(ANN));
    expect(one).toMatchObject({ verdict: 'moved', approval: { status: 'pending' } });
    expect(castVote(one.approval, vote(ANN))).toMatchObject({
      verdict: 'refused',
      code: 'approval_voted',
      approval: one.approval,
    });
    expect(castVote(one.approval, vote(ASKER))).toMatchObject({ verdict: 'refused', code: 'approval_requester' });
    expect(castVote(one.approval, vote(BOB))).toMatchObject({ verdict: 'moved', approval: { status: 'approved' } });
    expect(sibling).toEqual(ask({}, 1));
    expect(sibling.approvalId).not.toBe(ask().approvalId);
  });

  it('end with one rejection, also of somebody who has not yet been heard', () => {
    const one = castVote(ask(), vote(ANN)).approval;
    expect(castVote(one, vote(BOB, 'reject'))).toMatchObject({ verdict: 'moved', approval: { status: 'denied' } });
    expect(castVote(one, vote(ANN, 'reject'))).toMatchObject({ code: 'approval_voted' });
  });

  it.each([
    [-1, 'moved'],
    [0, 'refused'],
    [1, 'refused'],
  ] as const)('%i ms from the expiry are %s', (off, verdict) => {
    expect(castVote(ask(), vote(ANN, 'approve', T0 + 1_000 + off)).verdict).toBe(verdict);
    expect(castVote(ask({ expiryMs: null }), vote(ANN, 'approve', T0 + 1_000 + off)).verdict).toBe('moved');
  });

  it('about other arguments do not count', () => {
    expect(castVote(ask(), { ...vote(ANN), argsDigest: digest('edited') })).toMatchObject({
      code: 'approval_arguments',
    });
    const other = approvalIdOf('s1', { callId: callId(0), argsDigest: digest('edited'), limit: null }, 1);
    expect(other).not.toBe(ask().approvalId);
  });

  it('on what is closed change nothing', () => {
    for (const status of APPROVAL_STATUSES.filter((one) => one !== 'pending')) {
      const closed = { ...ask(), status };
      for (const ballot of [vote(ANN), vote(ASKER), vote(BOB, 'reject', T0 + 9_999)]) {
        expect(castVote(closed, ballot)).toEqual({ verdict: 'same', approval: closed });
      }
    }
  });

  it('come to the same in whatever order', () => {
    const people = Array.from({ length: 5 }, (_, index) => digest(`p${index}`));
    const ballots = fc.uniqueArray(fc.record({ person: fc.constantFrom(...people), rejects: fc.boolean() }), {
      selector: ({ person }) => person,
    });
    const some = ballots.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(some, fc.integer({ min: 1, max: 4 }), ([one, other], approvals) => {
        const count = (list: typeof one): { rejected: boolean; status: string } => {
          let approval = ask({ approvals });
          for (const { person, rejects } of list)
            approval = castVote(approval, vote(person, rejects ? 'reject' : 'approve')).approval;
          return { rejected: list.some(({ rejects }) => rejects), status: approval.status };
        };
        // With a rejection among them, whether it came before the last approval decides.
        const { rejected, status } = count(one);
        if (!rejected) expect(status).toBe(one.length >= approvals ? 'approved' : 'pending');
        else expect(['denied', 'approved']).toContain(status);
        if (!rejected) expect(count(other).status).toBe(status);
      }),
    );
  });
});

describe('an expiry', () => {
  const at = (onTimeout: OnTimeout, when: number) => expireApproval(ask({ onTimeout }), when);

  it('does nothing before its moment, and nothing to what is closed', () => {
    for (const onTimeout of ['deny', 'allow', { escalate: [ROLES[1] as string] }] as const) {
      expect(at(onTimeout, T0 + 999)).toEqual({ becomes: 'pending' });
    }
    expect(expireApproval({ ...ask(), status: 'approved' }, T0 + 5_000)).toEqual({ becomes: 'pending' });
    expect(expireApproval(ask({ expiryMs: null }), T0 + 5_000)).toEqual({ becomes: 'pending' });
  });

  it('denies or allows as its rule says', () => {
    expect(at('deny', T0 + 1_000)).toMatchObject({ becomes: 'expired', approval: { status: 'expired' } });
    expect(at('allow', T0 + 1_000)).toMatchObject({ becomes: 'approved', approval: { status: 'approved' } });
  });

  it('asks the next people anew, one after the other, and denies after the last', () => {
    const escalate = ROLES.slice(1);
    let open = castVote(ask({ onTimeout: { escalate } }), vote(CAI)).approval;
    const asked: (string | null)[] = [];
    const ids = [open.approvalId];
    for (let depth = 1; ; depth += 1) {
      const when = open.expiresAt ?? 0;
      const timeout = expireApproval(open, when);
      if (timeout.becomes !== 'escalated') {
        expect(timeout.becomes).toBe('expired');
        break;
      }
      expect(timeout.approval).toMatchObject({ status: 'escalated', approvalId: ids[depth - 1] });
      expect(timeout.next).toMatchObject({
        status: 'pending',
        votes: [],
        depth,
        after: ids[depth - 1],
        expiresAt: when + 1_000,
      });
      asked.push(timeout.next.route);
      ids.push(timeout.next.approvalId);
      open = timeout.next;
    }
    expect(asked).toEqual(escalate);
    expect(new Set(ids).size).toBe(MOST_ESCALATIONS + 1);
    expect(ids.every(isApprovalId)).toBe(true);
    // However long a line a rule names.
    const deepest = { ...ask({ onTimeout: { escalate } }), depth: MOST_ESCALATIONS };
    expect(expireApproval(deepest, T0 + 1_000).becomes).toBe('expired');
  });
});

it('an id covers the session, what is asked about, and which question it is', () => {
  const subject = { callId: callId(0), argsDigest: digest('args'), limit: null } as const;
  const limit = (name: 'tokens' | 'rounds') => ({ callId: null, argsDigest: null, limit: name }) as const;
  const ids = [
    approvalIdOf('s1', subject, 1),
    approvalIdOf('s1', subject, 2),
    approvalIdOf('s2', subject, 1),
    approvalIdOf('s1', { ...subject, callId: callId(1) }, 1),
    approvalIdOf('s1', limit('tokens'), 1),
    approvalIdOf('s1', limit('rounds'), 1),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});
