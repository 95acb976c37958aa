/**
 * A journal of two sessions as workers wrote it, and everything that can be done to what it says of them.
 *
 * Held here:
 * - the honest journal verifies strictly;
 * - a record that is changed, gone, swapped, doubled, misnamed or of another session is found at its place, also where everything behind it
 *   was sealed anew and only the story is impossible, or the runs of its calls, the answers or the receipts say otherwise;
 * - what is gone without a trace is only the end of a log, or what nothing rests on yet; a changed byte is found, or stands in a free field;
 * - verifying writes nothing, and no finding repeats what stands there.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ToolError, defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { SessionHandle } from '../../src/client';
import { sessionRunId } from '../../src/rules/invocations/names';
import type { SessionEvent } from '../../src/rules/invocations/session-event';
import {
  chained,
  recordFromBytes,
  recordName,
  type SessionRecord,
  type TimedEvent,
} from '../../src/rules/invocations/session-record';
import type { SessionEventType } from '../../src/rules/invocations/vocabulary';
import { verifyJournal, type VerifyReport } from '../../src/verify';
import { SessionRig, call, uniqueTool, until } from '../sessions/support';
import { Chance } from '../support/damage';
import { TestReviewers, approvalOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { memoryView } from './memory-view';

const rig = useRig();
type Files = Map<string, Uint8Array>;
const encoder = new TextEncoder();
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();
const OTHER = `sha256:${'0'.repeat(64)}`;

/** One call that a person approved, one that worked, one that failed; and another session. */
async function played(): Promise<readonly [SessionHandle, SessionHandle]> {
  const handler = defineTool({
    tool: uniqueTool('pay'),
    inputSchema: z.object({ amount: z.int() }),
    run: ({ amount }) => {
      if (amount === 3) throw new ToolError('card_declined');
      return Promise.resolve({ paid: amount });
    },
  }) as ToolHandler;
  const tool = { ...handler, capacity: 'native' as const };
  const reviewers = new TestReviewers();
  const play = new SessionRig(rig, {
    script: [
      { text: 'I pay', toolCalls: [call(tool.tool, { amount: 1 }), call(tool.tool, { amount: 2 })] },
      { text: 'and more', toolCalls: [call(tool.tool, { amount: 3 })] },
      { text: 'done' },
    ],
    tools: [tool],
    plugin: {
      reviewers,
      toolPolicies: [
        {
          name: 'ones',
          scope: 'agent',
          decision: 'require_approval',
          conditions: { field: 'amount', op: 'eq', value: 1 },
        },
      ],
    },
    toolWorker: { reviewers },
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const sessions = [
    await play.start({ message: 'please', kind: 'child' }),
    await play.start({ message: 'please', kind: 'child' }),
  ] as const;
  for (const session of sessions) {
    const { calls } = await until(session, ({ status }) => status === 'awaiting_approval');
    const plan = rig.plans.getHandle(calls[0]?.run_id ?? '');
    await rig.until(plan, ({ state }) => state === 'parked');
    const asked = await plan.approvals();
    await plan.approve(approvalOf(asked!, 'ann'));
    expect(await session.result()).toMatchObject({ status: 'completed' });
  }
  return sessions;
}

function filesOf(folder: string): Files {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    names.map(({ parentPath, name }) => {
      const file = path.join(parentPath, name);
      return [path.relative(folder, file), readFileSync(file)];
    }),
  );
}

/** The journal in memory, with one of its sessions to damage. */
class Scene {
  readonly folder: string;
  readonly records: readonly SessionRecord[];
  readonly others: readonly SessionRecord[];

  constructor(
    readonly honest: Files,
    readonly session: string,
    readonly other: string,
  ) {
    this.folder = sessionRunId(session);
    this.records = this.log(session);
    this.others = this.log(other);
  }

  private log(session: string): readonly SessionRecord[] {
    const names = [...this.honest.keys()].filter((name) => name.startsWith(`${sessionRunId(session)}/events/`)).sort();
    return names.map((name) => recordFromBytes(this.honest.get(name) as Uint8Array));
  }

  at(name: string): string {
    return `${this.folder}/${name}`;
  }

  event(sequence: number): string {
    return this.at(`events/${recordName(sequence)}`);
  }

  /** The sequence of the n-th event of a type. */
  nth(type: SessionEventType, which = 1): number {
    return this.records.filter(({ event }) => event.type === type)[which - 1]?.sequence ?? 0;
  }

  get runOfApproved(): string {
    const first = this.records[this.nth('tool.requested') - 1]?.event;
    return first?.type === 'tool.requested' ? (first.runId ?? '') : '';
  }

  /** The whole log, sealed anew, with other events. */
  sealed(files: Files, change: (events: TimedEvent[]) => TimedEvent[]): void {
    for (const { sequence } of this.records) files.delete(this.event(sequence));
    const events = change(this.records.map(({ at, event }) => ({ at, event })));
    for (const { record, text: bytes } of chained(this.session, null, events)) {
      files.set(this.event(record.sequence), encoder.encode(bytes));
    }
  }
}

/** What is done, and at which place it is found under which word. */
interface Damage {
  readonly do: (files: Files, scene: Scene) => void;
  readonly at: (scene: Scene) => string;
  readonly code?: string;
  readonly says: RegExp;
}

const edited =
  (place: (scene: Scene) => string, from: string | RegExp, to: string) =>
  (files: Files, scene: Scene): void => {
    const before = text(files.get(place(scene)));
    expect(before).toMatch(from);
    files.set(place(scene), encoder.encode(before.replace(from, to)));
  };
const gone =
  (place: (scene: Scene) => string) =>
  (files: Files, scene: Scene): void =>
    expect(files.delete(place(scene))).toBe(true);
const put =
  (place: (scene: Scene) => string, from: (scene: Scene) => string) =>
  (files: Files, scene: Scene): void =>
    void files.set(place(scene), scene.honest.get(from(scene)) as Uint8Array);
/** The n-th event of a type, in a log that is sealed anew from its beginning. */
const told =
  <T extends SessionEventType>(type: T, change: Partial<Extract<SessionEvent, { type: T }>> | null, which = 1) =>
  (files: Files, scene: Scene): void => {
    const index = scene.nth(type, which) - 1;
    expect(index).toBeGreaterThanOrEqual(0);
    scene.sealed(files, (events) =>
      events.flatMap((one, place) => {
        if (place !== index) return [one];
        return change === null ? [] : [{ ...one, event: { ...one.event, ...change } as SessionEvent }];
      }),
    );
  };
const second = (scene: Scene): string => scene.event(2);
const third = (scene: Scene): string => scene.event(3);
const nth =
  (type: SessionEventType, which = 1) =>
  (scene: Scene): string =>
    scene.event(scene.nth(type, which));
const part =
  (name: string) =>
  (scene: Scene): string =>
    scene.at(name);
const ROUND = 'rounds/000001-000001.json';

const DAMAGES: Readonly<Record<string, Damage>> = {
  'a changed record': { do: edited(nth('message.assistant'), /"input_tokens":\d+/, '"input_tokens":1'), at: nth('message.assistant'), says: /record\.digest/ },
  'a changed record under a digest of its own': {
    do: (files, scene) => {
      const { at, event, previous, sequence } = scene.records[1] as SessionRecord;
      const head = { sequence: sequence - 1, digest: previous as string };
      files.set(scene.event(2), encoder.encode(chained(scene.session, head, [{ at: at + 1, event }])[0]!.text));
    },
    at: third, says: /line 3/,
  },
  'a record that is gone': { do: gone(second), at: third, says: /line 2/ },
  'a first record that is gone': { do: gone((scene) => scene.event(1)), at: second, says: /line 1/ },
  'two records in each other’s place': { do: (files, scene) => { put(second, third)(files, scene); put(third, second)(files, scene); }, at: second, says: /line 2/ },
  'a record twice': { do: put(third, second), at: third, says: /line 3/ },
  'a record twice, the later ones moved on': {
    do: (files, scene) => scene.records.slice(2).forEach(({ sequence }) => put(() => scene.event(sequence + 1), () => scene.event(sequence))(files, scene)),
    at: (scene) => scene.event(4), says: /line 4/,
  },
  'a record of another session': { do: put(second, (scene) => `${sessionRunId(scene.other)}/events/${recordName(2)}`), at: second, says: /line 2/ },
  'the log of another session': {
    do: (files, scene) => scene.others.forEach(({ sequence }) => put(() => scene.event(sequence), () => `${sessionRunId(scene.other)}/events/${recordName(sequence)}`)(files, scene)),
    at: (scene) => scene.event(1), says: /line 1/,
  },
  'a last record under another name': {
    do: (files, scene) => { put(() => scene.event(99), () => scene.event(scene.records.length))(files, scene); gone(() => scene.event(scene.records.length))(files, scene); },
    at: (scene) => scene.event(99), code: 'entry_unexpected', says: /name/,
  },
  'half a record': { do: (files, scene) => void files.set(second(scene), (files.get(second(scene)) as Uint8Array).slice(0, 50)), at: second, says: /./ },
  'a stranger in the log': { do: (files, scene) => void files.set(scene.at('events/notes.txt'), encoder.encode('x')), at: part('events/notes.txt'), says: /./ },

  'a log sealed anew, without a dispatch': { do: told('tool.dispatched', null), at: (scene) => scene.event(scene.nth('tool.completed') - 1), says: /line/ },
  'a log sealed anew, without a request': { do: told('tool.requested', null), at: nth('tool.requested'), says: /./ },
  'a log sealed anew, without an answer': { do: told('message.assistant', null, 2), at: nth('message.assistant', 2), says: /line/ },
  'a log sealed anew, without its votes': { do: told('approval.vote', null), at: nth('approval.vote'), says: /line/ },
  'a log sealed anew, with another answer': { do: told('message.assistant', { message: OTHER }), at: part(ROUND), says: /text/ },
  'a log sealed anew, with fewer tokens': { do: told('message.assistant', { outputTokens: 0 }), at: part(ROUND), says: /tokens/ },
  'a log sealed anew, with other arguments': { do: told('tool.requested', { argsDigest: OTHER }, 2), at: nth('tool.requested', 2), says: /args_digest/ },
  'a log sealed anew, with another result': { do: told('tool.completed', { resultDigest: OTHER }), at: nth('tool.completed'), says: /result_digest: its run says otherwise/ },
  'a log sealed anew, with a failure as a success': { do: told('tool.completed', { status: 'succeeded', errorCode: null, resultDigest: OTHER }, 3), at: nth('tool.completed', 3), says: /status: its run says otherwise/ },
  'a log sealed anew, with a success as a failure': { do: told('tool.completed', { status: 'failed', ground: 'looked_up', errorCode: 'card_declined', resultDigest: null }), at: nth('tool.completed'), says: /status: its run says otherwise/ },
  'a log sealed anew, with a vote of somebody else': { do: told('approval.vote', { person: OTHER }), at: nth('approval.vote'), says: /person: its run says otherwise/ },
  'a log sealed anew, with a vote that nobody signed': { do: told('approval.vote', { receipt: OTHER }), at: nth('approval.vote'), says: /receipt: its run says otherwise/ },
  'a log sealed anew, asked for by somebody else': { do: told('session.started', { definition: OTHER }), at: part('definition.json'), says: /definition/ },

  'a session without its definition': { do: gone(part('definition.json')), at: part('definition.json'), says: /session_id/ },
  'a definition that allows another tool': { do: edited(part('definition.json'), /"tool":"pay/, '"tool":"say'), at: part('definition.json'), says: /definition/ },
  'the definition of another session': { do: put(part('definition.json'), (scene) => `${sessionRunId(scene.other)}/definition.json`), at: part('definition.json'), says: /session_id/ },
  'an answer that is gone': { do: gone(part(ROUND)), at: part(ROUND), says: /missing/ },
  'an answer that asks for more': { do: edited(part(ROUND), /"calls":\[/, `"calls":[{"args_digest":"${OTHER}","tool":"steal"},`), at: part(ROUND), says: /calls/ },
  'an answer in the place of another': { do: put(part(ROUND), part('rounds/000001-000002.json')), at: part(ROUND), says: /session_id/ },
  'an answer of another session': { do: put(part(ROUND), (scene) => `${sessionRunId(scene.other)}/${ROUND}`), at: part(ROUND), says: /session_id/ },
  'a stranger among the answers': { do: (files, scene) => void files.set(scene.at('rounds/notes.txt'), encoder.encode('x')), at: part('rounds/notes.txt'), says: /./ },
  'a demand that asks for fewer': { do: edited((scene) => `${scene.runOfApproved}/demands/0001.json`, /"plan_digest":"sha256:[0-9a-f]{64}"/, `"plan_digest":"${OTHER}"`), at: (scene) => `${scene.runOfApproved}/demands/0001.json`, code: 'demand_invalid', says: /plan_digest/ },
  'a demand under another number': {
    do: (files, scene) => { put(() => `${scene.runOfApproved}/demands/0002.json`, () => `${scene.runOfApproved}/demands/0001.json`)(files, scene); gone(() => `${scene.runOfApproved}/demands/0001.json`)(files, scene); },
    at: (scene) => `${scene.runOfApproved}/demands/0002.json`, code: 'demand_invalid', says: /name/,
  },
  'a receipt that is gone': {
    do: (files, scene) => { for (const name of [...files.keys()]) if (name.startsWith(`${scene.runOfApproved}/receipts/`)) files.delete(name); },
    at: nth('approval.vote'), says: /receipt: its run says otherwise/,
  },
  'a run of a call whose end is gone': {
    do: (files, scene) => {
      const chain = [...files.keys()].filter((name) => name.startsWith(`${scene.runOfApproved}/lineage-0001/`)).sort();
      files.delete(chain.at(-1) as string);
    },
    at: nth('tool.completed', 2), says: /status: its run says otherwise/,
  },
}; // prettier-ignore

const verified = (files: Files): Promise<VerifyReport> => verifyJournal(memoryView(files));
/** The digests of what is in no journal, and the name of the model. */
const FREE = /^(message|model|at)$/;

test('what can be done to a session is found', { timeout: 180_000 }, async () => {
  const [one, other] = await played();
  const honest = filesOf(path.join(rig.folder, 'journal'));
  const scene = new Scene(honest, one.session, other.session);
  expect(await verifyJournal(memoryView(honest), { strict: true })).toMatchObject({ ok: true, findings: [] });

  const outcomes: Record<string, unknown> = {};
  const wanted: Record<string, unknown> = {};
  for (const [name, { do: damage, at, code = 'session_invalid', says }] of Object.entries(DAMAGES)) {
    const files: Files = new Map(honest);
    damage(files, scene);
    const { ok, findings } = await verified(files);
    const found = findings.find(
      (finding) => finding.path === at(scene) && finding.code === code && says.test(finding.message),
    );
    wanted[name] = 'found';
    outcomes[name] =
      !ok && found !== undefined ? 'found' : findings.map((finding) => [finding.code, finding.path, finding.message]);
    for (const { message } of findings) expect(message).not.toMatch(/sha256:|card_declined|example.org/);
  }
  expect(outcomes).toEqual(wanted);

  const own = [...honest.keys()].filter((name) => name.startsWith(scene.folder));
  const untraced: string[] = [];
  for (const name of own) {
    const files = new Map(honest);
    files.delete(name);
    if ((await verified(files)).ok) untraced.push(name);
  }
  expect(untraced).toEqual([scene.event(scene.records.length)]);

  const chance = new Chance(20_261_201);
  const few = new Map([...honest].filter(([name]) => name === 'journal.json' || name.startsWith(scene.folder)));
  for (const name of own) {
    for (let times = 0; times < 6; times += 1) {
      const bytes = Uint8Array.from(honest.get(name) as Uint8Array);
      const index = chance.below(bytes.length);
      bytes[index] = (bytes[index] as number) ^ (1 + chance.below(127));
      if (!(await verifyJournal(memoryView(new Map([...few, [name, bytes]])), { strict: true })).ok) continue;
      const [before, after] = [honest.get(name), bytes].map(
        (file) => JSON.parse(text(file)) as Record<string, unknown>,
      );
      const fields = Object.keys(before!).filter(
        (field) => JSON.stringify(before![field]) !== JSON.stringify(after![field]),
      );
      expect(
        fields.every((field) => FREE.test(field)),
        `${name}: ${fields.join()}`,
      ).toBe(true);
    }
  }
});
