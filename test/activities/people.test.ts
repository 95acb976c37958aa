/**
 * What `drive` does with what people say, on stores in memory. After every execution the chain of its workflow follows, and the
 * journal verifies strictly: each step is justified, with receipts that uphold it.
 *
 * Held here:
 * - a quorum releases a plan once, whoever drives next; nothing is sent before, and nothing that the quorum lost is sent after;
 * - a rejection or a deadline ends it, with who and why; an escalation lets more people decide;
 * - a key that is revoked, or an approval that expires, stops the very next send, also in the middle of a batch;
 * - a new lineage carries what is committed, takes its number once, and needs its own approvals; old ones do not count in it;
 * - a person's word settles exactly the attempts that there were, where nothing else could tell, and never beats a look-up;
 * - an accepted word outlives its driver: the next one carries out what was asked;
 * - without keys nothing is decided and nothing is lost.
 */
import { sha256Digest } from '../../src/rules/recovery';
import { describe, expect, it } from 'vitest';
import { personDigest } from '../../src/rules/receipts/names';
import { APPROVER, AUDITOR, approvalOf, personOf, rejectionOf, requestOf, resolutionOf } from '../support/reviewers';
import { People, answersOf } from './people';
import { TOOL } from './support';

const DAY = 86_400;

/** Parked, asking for approvals. */
async function asking(options: ConstructorParameters<typeof People>[0] = {}): Promise<People> {
  const people = new People(options);
  expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'approval_missing' });
  return people;
}

/** Approved by Ann and Bob, for so many seconds. */
function approvals(people: People, livesS = 3_600): readonly string[] {
  const asked = people.question();
  return ['ann', 'bob'].map((who) => approvalOf(asked, who, { ...people.signed, livesS }));
}

describe('an approval', () => {
  it('of a quorum releases the plan, and nothing is sent before', async () => {
    const people = await asking();
    const [ann, bob] = approvals(people) as [string, string];
    expect(await people.drive([ann])).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(people.question().have.map(({ says, kid }) => [says, kid])).toEqual([['approve', 'key-ann']]);
    expect(people.bench.told.sent).toHaveLength(0);
    expect(await people.drive([bob])).toMatchObject({ status: 'done' });
    expect(people.bench.told.sent).toHaveLength(1);
    expect(people.chain.head?.approvalExpiresAt).toBe(BigInt(Math.floor(people.now / 1000 + 3_600) * 1_000));
  });

  it('counts people, not keys or tokens: a second one of a person is refused, unless it counts where the first does not', async () => {
    const people = await asking();
    people.reviewers.add('ann-too', [APPROVER]);
    people.reviewers.hand('ann-too', 'ann');
    const again = () => ['ann', 'ann-too'].map((who) => approvalOf(people.question(), who, people.signed));
    const voted = ['receipt_voted', 'receipt_voted'];
    expect(answersOf(await people.drive([...again()]))).toEqual([null, 'receipt_voted']);
    expect(answersOf(await people.drive([...again()]))).toEqual(voted);
    const inRole = approvalOf(people.question(), 'ann', { ...people.signed, role: AUDITOR });
    expect(answersOf(await people.drive([inRole]))).toEqual(['receipt_voted']);
    expect(people.last).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(people.question().have).toHaveLength(1);
    people.reviewers.revoke('ann');
    expect(answersOf(await people.drive([again()[1] as string]))).toEqual([null]);
    expect(answersOf(await people.drive([rejectionOf(people.question(), 'ann-too', people.signed)]))).toEqual([null]);
    expect(people.last).toMatchObject({ status: 'done' });
    expect(people.bench.told.sent).toHaveLength(0);
  });

  it('of a person counts for each rule once', async () => {
    const people = await asking();
    people.rule = { approvals: 2, roles: [APPROVER] };
    await people.drive();
    expect(answersOf(await people.drive([approvalOf(people.question(), 'ann', people.signed)]))).toEqual([null]);
    people.rule = { approvals: 2, roles: [AUDITOR] };
    await people.drive();
    const inRole = approvalOf(people.question(), 'ann', { ...people.signed, role: AUDITOR });
    expect(answersOf(await people.drive([inRole]))).toEqual([null]);
  });

  it.each([
    [-1, null],
    [0, 'receipt_late'],
    [1, 'receipt_late'],
  ])('comes %i ms after the end of its question: %s', async (ms, code) => {
    const people = new People();
    const expiresAt = people.now + 5_000;
    people.rule = { approvals: 1, expiresAt };
    await people.drive();
    const [ann, bob] = approvals(people) as [string, string];
    people.pass(5_000 + ms);
    expect(answersOf(await people.drive([ann]))).toEqual([code]);
    expect(people.bench.told.sent).toHaveLength(code === null ? 1 : 0);
    if (code !== null) expect(answersOf(await people.drive([bob]))).toEqual(['receipt_late']);
  });

  it('that is handed over twice is kept once, also after it has expired', async () => {
    const people = await asking();
    const ann = approvals(people)[0] as string;
    await people.drive([ann, ann]);
    people.pass(2 * 3_600_000);
    expect(answersOf(await people.drive([ann]))).toEqual([null]);
    expect(people.question().have).toHaveLength(1);
  });

  it('is found in the journal by whoever drives next', async () => {
    const people = await asking();
    const [ann, bob] = approvals(people) as [string, string];
    await people.drive([ann]);
    people.forget();
    expect(await people.carry([bob])).toMatchObject({ status: 'done' });
    expect(people.bench.told.sent).toHaveLength(1);
  });

  it('with a signed request counts only once the request is there, and never by who asked', async () => {
    const people = await asking({ rule: { approvals: 1, signedRequest: true } });
    const asked = people.question();
    const [ann, bob] = ['ann', 'bob'].map((who) => approvalOf(asked, who, people.signed)) as [string, string];
    expect(await people.drive([ann])).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(await people.drive([requestOf(asked, 'ann', people.signed)])).toMatchObject({ status: 'parked' });
    expect(await people.drive([bob])).toMatchObject({ status: 'done' });
  });

  it('once given, is judged again by the policy of the worker that sends', async () => {
    const people = await asking({ effects: [{}, {}] });
    people.bench.told.outcomes.push({ outcome: 'not_sent' });
    expect(await people.drive(approvals(people))).toMatchObject({ status: 'waiting' });
    people.rule = { approvals: 3 };
    expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(people.question()).toMatchObject({ asksApproval: false });
    expect(people.question().resolutions).toContain('new_lineage');
    people.rule = { approvals: 1 };
    expect(await people.carry()).toMatchObject({ status: 'done' });
  });
});

describe('a rejection', () => {
  it('ends the plan, whatever was approved, and says whose key it was', async () => {
    const people = await asking();
    const asked = people.question();
    const tokens = [...approvals(people), rejectionOf(asked, 'cleo', people.signed)];
    expect(await people.carry(tokens)).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('aborted');
    expect(people.chain.denial).toMatchObject({ code: 'rejected' });
    expect(people.chain.denial?.key).toMatch(/^sha256:/);
    expect(people.bench.told.sent).toHaveLength(0);
  });

  it('that comes while sending has begun ends what is left', async () => {
    const people = await asking({ effects: [{}, {}] });
    const asked = people.question();
    people.bench.told.outcomes.push({ outcome: 'accepted', externalId: 'row-0' }, { outcome: 'not_sent' });
    expect(await people.drive(approvals(people))).toMatchObject({ status: 'waiting' });
    expect(await people.carry([rejectionOf(asked, 'cleo', people.signed)])).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('aborted');
    expect(people.chain.effects().map(({ state }) => state)).toEqual(['committed', 'not_sent']);
  });

  it('of who asked for the plan is none', async () => {
    const people = await asking({ requester: personDigest(personOf('rita')) });
    const result = await people.drive([rejectionOf(people.question(), 'rita', people.signed)]);
    expect(answersOf(result)).toEqual(['receipt_requester']);
    expect(result).toMatchObject({ status: 'parked', reason: 'approval_missing' });
  });
});

describe('a deadline', () => {
  it('denies a plan that nobody approved in time', async () => {
    const people = await asking({ rule: { approvals: 1, deadline: { afterMs: 60_000, then: 'deny' } } });
    expect(people.question().deadlineMs).toBe(60_000);
    people.pass(59_999);
    people.waitedForApproval = 59_999;
    expect(await people.drive()).toMatchObject({ status: 'parked' });
    expect(people.question().deadlineMs).toBe(1);
    people.pass(1);
    people.waitedForApproval = 60_000;
    expect(await people.carry()).toMatchObject({ status: 'done' });
    expect(people.chain.denial).toMatchObject({ code: 'deadline', receipt: null, key: null });
  });

  it('does not undo an approval that came in time', async () => {
    const people = await asking({ rule: { approvals: 1, deadline: { afterMs: 60_000, then: 'deny' } } });
    const token = approvals(people)[0] as string;
    people.pass(60_000);
    people.waitedForApproval = 60_000;
    expect(await people.carry([token])).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('completed');
  });

  it('is not believed to have passed when the run is younger', async () => {
    const people = await asking({ rule: { approvals: 1, deadline: { afterMs: 60_000, then: 'deny' } } });
    people.waitedForApproval = 60_000;
    expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'approval_missing' });
  });

  it('that escalates lets more people decide, and what they decided holds for whoever drives next', async () => {
    const deadline = { afterMs: 60_000, then: { escalate: AUDITOR } } as const;
    const people = await asking({ rule: { approvals: 1, roles: [APPROVER], deadline } });
    const token = approvalOf(people.question(), 'ann', { ...people.signed, role: AUDITOR });
    expect(answersOf(await people.drive([token]))).toEqual(['receipt_wrong_role']);
    people.pass(60_000);
    people.waitedForApproval = 60_000;
    people.bench.told.outcomes.push({ outcome: 'not_sent' });
    expect(await people.drive([token])).toMatchObject({ status: 'waiting' });
    people.forget();
    people.waitedForApproval = 0;
    expect(await people.carry()).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('completed');
  });
});

describe('an approval that is lost', () => {
  it('by a revoked key stops the plan before its first send', async () => {
    const people = await asking();
    const tokens = approvals(people);
    const engine = people.engine({ at: (point) => void (point === 'after_append' && people.reviewers.revoke('bob')) });
    expect(await people.drive(tokens, {}, engine)).toMatchObject({ status: 'parked', reason: 'approval_revoked' });
    expect(people.bench.told.sent).toHaveLength(0);
    expect(people.question().resolutions).toContain('new_lineage');
  });

  it.each(['ordered', 'independent'])('by a revoked key stops an %s plan in the middle of a batch', async (order) => {
    const people = await asking({ effects: [{}, {}, {}], order });
    const engine = people.engine({ at: (point) => void (point === 'answered' && people.reviewers.revoke('ann')) });
    const result = await people.drive(approvals(people), {}, engine);
    expect(result).toMatchObject({ status: 'parked', reason: 'approval_revoked' });
    expect(people.bench.told.sent).toHaveLength(1);
  });

  it.each([
    [-1, 2],
    [0, 1],
    [1, 1],
  ])('by expiry stops the send at %i ms from it', async (offset, sent) => {
    const people = await asking({ effects: [{}, {}] });
    const tokens = approvals(people, 60);
    const expiresAt = (people.signed.iat + 60) * 1_000;
    const engine = people.engine({
      at: (point) => void (point === 'answered' && people.pass(expiresAt + offset - people.now)),
    });
    const result = await people.drive(tokens, {}, engine);
    expect(people.bench.told.sent).toHaveLength(sent);
    if (sent === 1) expect(result).toMatchObject({ status: 'parked', reason: 'approval_expired' });
    else expect(result).toMatchObject({ status: 'done' });
  });

  it('between the last check and the request is noticed, and the slot ends as not sent', async () => {
    const people = await asking();
    const tokens = approvals(people, 60);
    const engine = people.engine({ at: (point) => void (point === 'slot_taken' && people.pass(60_000)) });
    await people.drive(tokens, {}, engine);
    expect(people.bench.told.sent).toHaveLength(0);
    expect(await people.carry()).toMatchObject({ status: 'parked', reason: 'approval_expired' });
  });

  it('does not keep a plan from being complete whose effects are all there', async () => {
    const people = await asking({ effects: [{ approvalRequired: true }] });
    people.bench.told.outcomes.push('late');
    const engine = people.engine({ at: (point) => void (point === 'answered' && people.pass(DAY * 1_000)) });
    expect(await people.carry(approvals(people), {}, engine)).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('completed');
  });
});

/** Half sent, and the approval expired. */
async function expired(): Promise<People> {
  const people = await asking({ effects: [{}, {}] });
  const tokens = approvals(people, 60);
  const engine = people.engine({ at: (point) => void (point === 'answered' && people.pass(60_000)) });
  expect(await people.drive(tokens, {}, engine)).toMatchObject({ status: 'parked', reason: 'approval_expired' });
  return people;
}

describe('a new lineage', () => {
  const reopen = (people: People): string =>
    resolutionOf(people.question(), 'cleo', { ...people.signed, resolution: 'new_lineage' });

  it('carries what is committed, and is approved anew', async () => {
    const people = await expired();
    const old = approvalOf(people.question(), 'ann', people.signed);
    expect(await people.drive([reopen(people)])).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(people.chain.lineage).toBe(2);
    expect(people.chain.head).toMatchObject({ phase: 'planned', sequence: 0n, approvalReceiptDigest: null });
    expect(people.chain.effects().map(({ state }) => state)).toEqual(['committed', 'not_sent']);
    expect(answersOf(await people.drive([old]))).toEqual(['receipt_wrong_lineage']);
    expect(await people.drive(approvals(people))).toMatchObject({ status: 'done' });
    expect(people.bench.told.sent).toHaveLength(2);
    expect(people.chain.head?.phase).toBe('completed');
  });

  it('is followed by a history that knows nothing, and by one that stood in the first', async () => {
    const people = await expired();
    const standing = people.chain;
    await people.drive([reopen(people)]);
    const digests = people.chain.lineages.map((list) => [...list]);
    people.forget();
    await people.drive();
    expect(people.chain.lineages).toEqual(digests);
    people.chain = standing;
    await people.drive();
    expect(people.chain.lineages).toEqual(digests);
  });

  it('takes its number once, also when its driver dies on the way', async () => {
    const people = await expired();
    const token = reopen(people);
    for (const dies of ['before_append', 'after_append'] as const) {
      const engine = people.engine({
        at: (point) => (point === dies ? Promise.reject(new Error('killed')) : undefined),
      });
      await expect(people.drive([token], {}, engine)).rejects.toThrow('killed');
      people.epoch = null;
      await people.verify();
    }
    expect(await people.carry()).toMatchObject({ status: 'parked', reason: 'approval_missing' });
    expect(people.chain.lineage).toBe(2);
    expect(people.bench.store.names(`${people.bench.plan.runId}/lineages`)).toEqual(['0002']);
    expect(await people.carry(approvals(people))).toMatchObject({ status: 'done' });
    expect(people.bench.told.sent).toHaveLength(2);
  });

  it('can follow another', async () => {
    const people = await expired();
    await people.drive([reopen(people)]);
    people.bench.told.outcomes.push({ outcome: 'not_sent' });
    await people.drive(approvals(people, 60));
    people.pass(60_000);
    expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'approval_expired' });
    await people.drive([reopen(people)]);
    expect(people.chain.lineage).toBe(3);
    expect(await people.carry(approvals(people))).toMatchObject({ status: 'done' });
    people.forget();
    expect(await people.drive()).toMatchObject({ status: 'done', replayed: true });
    expect(people.bench.told.sent.map(({ operation }) => operation)).toEqual([
      { index: 0 },
      { index: 1 },
      { index: 1 },
    ]);
  });

  it('is not offered while the approval counts, nor before anything is approved', async () => {
    const people = await asking();
    expect(people.question().resolutions).toEqual(['reobserve', 'abort']);
    const result = await people.drive([reopen(people)]);
    expect(answersOf(result)).toEqual(['receipt_not_wanted']);
  });
});

/** A blind sink that took a request, and nobody knows what became of it. */
async function doubtful(options: ConstructorParameters<typeof People>[0] = {}): Promise<People> {
  const people = new People({ rule: null, sink: { lookup: 'none' }, ...options });
  people.bench.told.outcomes.push('throw');
  expect(await people.carry()).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
  return people;
}

describe('a word about an effect in doubt', () => {
  const mark = (
    people: People,
    resolution: 'mark_absent' | 'mark_committed',
    more: { externalId?: string; ordinal?: number } = {},
  ): string => {
    const { externalId = null, ordinal = 0 } = more;
    const actionIds = [people.bench.plan.effects[ordinal]!.actionId];
    return resolutionOf(people.question(), 'ann', { ...people.signed, resolution, actionIds, externalId });
  };

  it('that it is committed ends it, under the name that the person gave', async () => {
    const people = await doubtful();
    expect(await people.carry([mark(people, 'mark_committed', { externalId: 'row-7' })])).toMatchObject({
      status: 'done',
    });
    expect(people.chain.head?.phase).toBe('completed');
    expect(people.bench.told.sent).toHaveLength(1);
    expect(people.chain.effects()[0]).toMatchObject({ state: 'committed', proof: 'attested' });
  });

  it('that it is absent lets it be sent again, once', async () => {
    const people = await doubtful();
    expect(await people.carry([mark(people, 'mark_absent')])).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('completed');
    expect(people.bench.told.sent).toHaveLength(2);
  });

  it('says nothing of an attempt that began later', async () => {
    const people = await doubtful();
    const token = mark(people, 'mark_absent');
    people.bench.told.outcomes.push('throw');
    expect(await people.carry([token])).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
    expect(people.bench.told.sent).toHaveLength(2);
    expect(await people.carry([token])).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
    expect(people.bench.told.sent).toHaveLength(2);
    expect(await people.carry([mark(people, 'mark_committed')])).toMatchObject({ status: 'done' });
  });

  it('never beats a look-up', async () => {
    const people = new People({ rule: null });
    people.bench.told.outcomes.push('throw');
    people.bench.told.answers.push({ state: 'absent' }, { state: 'absent' }, ...Array<'throw'>(40).fill('throw'));
    expect(await people.carry()).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
    const token = mark(people, 'mark_absent');
    people.bench.told.answers.length = 0;
    const { actionId, operationDigest } = people.bench.plan.effects[0]!;
    const key = people.chain.head!.effects.find((effect) => effect.actionId === actionId)!.idempotencyKey;
    people.bench.told.held.set(key, { state: 'committed', operationDigest, externalId: 'row-1' });
    expect(await people.carry([token])).toMatchObject({ status: 'done' });
    expect(people.bench.told.sent).toHaveLength(1);
    expect(people.chain.effects()[0]?.proof).toBe('looked_up');
  });

  it('that it is committed stands also when the sink is found to have it under another name', async () => {
    const people = new People({ rule: null, effects: [{}, {}] });
    people.bench.told.outcomes.push('throw', { outcome: 'not_sent' });
    people.bench.told.answers.push({ state: 'absent' }, { state: 'absent' }, ...Array<'throw'>(40).fill('throw'));
    expect(await people.carry()).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
    const token = mark(people, 'mark_committed');
    const [first, second] = people.chain.head!.effects;
    const answers = [{ state: 'unknown' }] as const;
    people.bench.told.answers.length = 0;
    people.bench.told.held.set(first!.idempotencyKey, answers[0]);
    await people.carry([token]);
    expect(people.chain.head?.effects[0]?.state).toBe('committed');
    const { operationDigest } = first!;
    people.bench.told.held.set(first!.idempotencyKey, { state: 'committed', operationDigest, externalId: 'row-1' });
    expect(await people.carry()).toMatchObject({ status: 'done' });
    expect(people.bench.told.held.has(second!.idempotencyKey)).toBe(true);
    expect(people.chain.head?.phase).toBe('completed');
  });

  it('counts no more when its key is revoked before it was used', async () => {
    const people = await doubtful();
    const token = mark(people, 'mark_absent');
    const engine = people.engine({ at: (point) => void (point === 'slot_closed' && people.reviewers.revoke('ann')) });
    people.epoch = null;
    const result = await people.carry([token], {}, engine);
    expect(people.bench.told.sent).toHaveLength(1);
    expect(result).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
  });

  it('about an effect that is not in doubt is refused', async () => {
    const people = await doubtful({ effects: [{}, {}] });
    const result = await people.drive([mark(people, 'mark_absent', { ordinal: 1 })]);
    expect(answersOf(result)).toEqual(['receipt_not_wanted']);
  });

  it('about another head is refused', async () => {
    const people = await doubtful();
    const elsewhere = { ...people.question(), headDigest: sha256Digest('another head') };
    const actionIds = [people.bench.plan.effects[0]!.actionId];
    const token = resolutionOf(elsewhere, 'ann', { ...people.signed, resolution: 'mark_absent', actionIds });
    expect(answersOf(await people.drive([token]))).toEqual(['receipt_stale_head']);
  });

  it('stays good while others look again and find what was found before', async () => {
    const people = await doubtful();
    const token = mark(people, 'mark_committed');
    const head = people.chain.head?.checkpointDigest;
    for (let looks = 0; looks < 3; looks += 1) {
      expect(await people.drive()).toMatchObject({ status: 'parked', reason: 'ambiguous_effect', steps: [] });
    }
    expect(people.chain.head?.checkpointDigest).toBe(head);
    expect(await people.carry([token])).toMatchObject({ status: 'done' });
  });
});

describe('a person', () => {
  it('can end a plan in doubt, and the next driver ends it when the first one died', async () => {
    const people = await doubtful({ effects: [{}, {}] });
    const token = resolutionOf(people.question(), 'bob', { ...people.signed, resolution: 'abort' });
    const engine = people.engine({
      at: (point) => (point === 'slot_closed' ? Promise.reject(new Error('killed')) : undefined),
    });
    await expect(people.drive([token], {}, engine)).rejects.toThrow('killed');
    people.forget();
    expect(await people.carry()).toMatchObject({ status: 'done' });
    expect(people.chain.head?.phase).toBe('aborted');
    expect(people.chain.effects().map(({ state }) => state)).toEqual(['unknown', 'not_sent']);
    expect(people.bench.told.sent).toHaveLength(1);
  });

  it('can ask to look again', async () => {
    const people = await doubtful();
    const token = resolutionOf(people.question(), 'bob', { ...people.signed, resolution: 'reobserve' });
    const result = await people.drive([token]);
    expect(answersOf(result)).toEqual([null]);
    expect(result).toMatchObject({ status: 'parked', reason: 'ambiguous_effect' });
  });

  it('cannot use one signature for two runs', async () => {
    const people = await asking();
    const other = await asking({ name: 'another' });
    const jti = `nonce_${'7'.repeat(32)}`;
    const [here, there] = [people, other].map((one) => approvalOf(one.question(), 'ann', { ...one.signed, jti }));
    for (const [path, bytes] of people.bench.store.entries) other.bench.store.put(path, bytes);
    expect(answersOf(await other.drive([there!]))).toEqual([null]);
    for (const [path, bytes] of other.bench.store.entries) people.bench.store.put(path, bytes);
    expect(answersOf(await people.drive([here!]))).toEqual(['receipt_replayed']);
  });
});

describe('without the reviewers’ keys', () => {
  it('the plan is parked, what was handed over stays where it is, and all goes on when they are back', async () => {
    const people = await asking();
    const tokens = approvals(people);
    people.reviewers.away = true;
    const parked = await people.drive(tokens);
    expect(parked).toMatchObject({ status: 'parked', reason: 'reviewers_unavailable', question: null });
    expect(answersOf(parked)).toEqual([]);
    people.reviewers.away = false;
    expect(await people.drive(tokens)).toMatchObject({ status: 'done' });
  });

  it('nothing more is sent, in the middle of a batch', async () => {
    const people = await asking({ effects: [{}, {}] });
    const engine = people.engine({ at: (point) => void (point === 'answered' && (people.reviewers.away = true)) });
    const result = await people.drive(approvals(people), {}, engine);
    expect(result).toMatchObject({ status: 'parked', reason: 'reviewers_unavailable' });
    expect(people.bench.told.sent).toHaveLength(1);
  });

  it('a plan that needs nobody is sent', async () => {
    const people = new People({ rule: null });
    people.reviewers.away = true;
    expect(await people.drive()).toMatchObject({ status: 'done' });
    expect(people.reviewers.loads).toBe(0);
    expect(people.bench.plan.effects[0]?.toolId).toBe(TOOL);
  });
});
