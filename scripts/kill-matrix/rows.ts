/**
 * The rows of the matrix: every moment at which a plan is struck, and with what. Invariant: each row makes its fault happen
 * at one exact moment that it has seen come, never after a guessed time.
 */
import type { Scene, SceneEnd } from './scene';
import { RIVAL_NAMESPACE } from './stage';
import type { WorkerMoment } from './worker-orders';

export interface Row {
  readonly about: string;
  /** The fault falls between an effect's slot and its end, so that a sink without look-up cannot tell what became of it. */
  readonly inDoubt: boolean;
  /** It does where a checkpoint and the slot that is written with it become visible together. */
  readonly inDoubtWhenJoint?: true;
  /** A process paused inside the sink's own client: before a sink that does not enforce keys it may write twice. */
  readonly pausedInClient?: true;
  readonly order?: 'independent';
  /** @default that of every sink */
  readonly deadlineMs?: number;
  /** Takes longest: begun first, so that nothing waits for it at the end. */
  readonly slow?: true;
  readonly play: (scene: Scene) => Promise<SceneEnd>;
}

/** The worker process kills itself where it passes `at` for the `nth` time; the next one finds what it left. */
const killedAt =
  (at: WorkerMoment['at'], nth: number): Row['play'] =>
  async (scene) => {
    const [first, next] = await Promise.all([scene.worker({ at, nth, does: 'kill' }), scene.standby()]);
    await scene.begin();
    await first.killedItself();
    scene.strike();
    next.proceed();
    return scene.ended();
  };

/** The sink holds the request of the second effect, and the worker that sent it is killed meanwhile. */
const killedWhileHeld =
  (fault: 'hold_before' | 'hold_after', then: 'continue' | 'drop'): Row['play'] =>
  async (scene) => {
    await scene.receiver.programme({ fault, key: scene.target });
    const [first, next] = await Promise.all([scene.worker(), scene.standby()]);
    await scene.begin();
    await scene.receiver.wait('held', { key: scene.target });
    await first.kill();
    scene.strike();
    await scene.receiver.release(scene.target, then);
    next.proceed();
    return scene.ended();
  };

/** The second worker, which takes over, is killed as well. */
const killedTwice =
  (at: WorkerMoment['at'], nth: number): Row['play'] =>
  async (scene) => {
    const [first, second, third] = await Promise.all([
      scene.worker({ at: 'slot_taken', nth: 2, does: 'kill' }),
      scene.standby({ at, nth, does: 'kill' }),
      scene.standby(),
    ]);
    await scene.begin();
    await first.killedItself();
    scene.strike();
    second.proceed();
    await second.killedItself();
    scene.strike();
    third.proceed();
    return scene.ended();
  };

/** Asked again after its end, a plan tells its outcome and sends nothing. */
async function sameAgain(scene: Scene, before: SceneEnd, again: () => Promise<SceneEnd>): Promise<SceneEnd> {
  const sent = await received(scene);
  const after = await again();
  if (after.end === 'completed' && before.outcome?.head?.digest !== after.outcome?.head?.digest) {
    scene.problems.push('asked again, the plan told another outcome');
  }
  if (after.outcome?.replayed === false) scene.problems.push('asked again, the plan did not say that it is a replay');
  if ((await received(scene)) !== sent) scene.problems.push('asked again, the plan sent something');
  return after;
}

async function received(scene: Scene): Promise<number> {
  const counts = await Promise.all(scene.keys.map((key) => scene.receiver.counts(key)));
  return counts.reduce((total, { received: one }) => total + one, 0);
}

/** The worker stops where `at` says; another one takes over and finishes; then the first is continued. */
const pausedAt =
  (at: 'slot_taken' | 'in_client', until: 'ended' | 'answered', continueWhen: 'ended' | 'taken_over'): Row['play'] =>
  async (scene) => {
    const [first, second] = await Promise.all([scene.worker({ at, nth: 2, does: 'stop' }), scene.standby()]);
    await scene.begin();
    await first.passes('struck');
    scene.strike();
    const stopped = performance.now();
    second.proceed();
    await second.passes('epoch_taken');
    scene.notes.push(`taken over ${((performance.now() - stopped) / 1000).toFixed(1)} s after the stop`);
    const continued = async (): Promise<void> => {
      const { received: before } = await scene.receiver.counts(scene.target);
      first.resume();
      await first.passes(until, 2);
      // What a client sent before it gave up may still be on its way; or nothing has left.
      if (at === 'in_client') {
        const late = { key: scene.target, count: before + 1, timeoutMs: 2_000 };
        await scene.receiver.wait('received', late).catch(() => undefined);
        await scene.sinkAtRest();
      }
    };
    if (continueWhen === 'taken_over') await continued();
    const end = await scene.ended();
    if (continueWhen === 'ended') await continued();
    return end;
  };

export const ROWS = {
  'before-append-1': { about: 'SIGKILL before the first append', inDoubt: false, play: killedAt('before_append', 1) },
  'after-append-1': {
    about: 'SIGKILL after the append of planned',
    inDoubt: false,
    inDoubtWhenJoint: true,
    play: killedAt('appended', 1),
  },
  'after-append-2': {
    about: 'SIGKILL after the append of dispatching, before the slot that is written with it',
    inDoubt: false,
    inDoubtWhenJoint: true,
    play: killedAt('appended', 2),
  },
  'after-append-3': {
    about: 'SIGKILL after the append of completed',
    inDoubt: false,
    play: killedAt('appended', 3),
  },
  'after-slot': { about: 'SIGKILL after a slot, before its look-up', inDoubt: true, play: killedAt('slot_taken', 2) },
  'before-send': { about: 'SIGKILL after a slot, right before its send', inDoubt: true, play: killedAt('sending', 2) },
  'during-send': {
    about: 'SIGKILL during the send; the sink commits all the same',
    inDoubt: true,
    play: killedWhileHeld('hold_before', 'continue'),
  },
  'during-send-lost': {
    about: 'SIGKILL during the send; the sink never commits',
    inDoubt: true,
    play: killedWhileHeld('hold_before', 'drop'),
  },
  'after-commit': {
    about: 'SIGKILL after the sink’s commit, before its answer',
    inDoubt: true,
    play: killedWhileHeld('hold_after', 'drop'),
  },
  'after-answer': {
    about: 'SIGKILL after the answer, before the end record',
    inDoubt: true,
    play: killedAt('answered', 2),
  },
  'after-end': { about: 'SIGKILL after an end record', inDoubt: false, play: killedAt('ended', 2) },
  'before-return': {
    about: 'SIGKILL after all is recorded, before the activity completes',
    inDoubt: false,
    play: killedAt('returning', 1),
  },
  'after-completion': {
    about: 'SIGKILL after completion, then everything asked again',
    inDoubt: false,
    play: async (scene) => {
      const [first, next] = await Promise.all([scene.worker(), scene.standby()]);
      await scene.begin();
      const before = await scene.ended();
      await first.kill();
      scene.strike();
      next.proceed();
      return sameAgain(scene, before, async () => scene.ended(await scene.begin()));
    },
  },
  'takeover-epoch': {
    about: 'SIGKILL after a slot, then of the next worker once it has the epoch',
    inDoubt: true,
    play: killedTwice('epoch_taken', 1),
  },
  'takeover-slots': {
    about: 'SIGKILL after a slot, then of the next worker among the slots that it closes',
    inDoubt: true,
    play: killedTwice('slot_closed', 1),
  },
  'dropped-reply': {
    about: 'the sink commits and closes the connection without an answer',
    inDoubt: true,
    play: async (scene) => {
      await scene.receiver.programme({ fault: 'drop_reply', key: scene.target });
      await scene.worker();
      await scene.begin();
      await scene.receiver.wait('committed', { key: scene.target });
      scene.strike();
      return scene.ended();
    },
  },
  'late-commit': {
    about: 'the client gives up at 1 s, the sink commits at 3 s',
    inDoubt: true,
    deadlineMs: 1_000,
    play: async (scene) => {
      await scene.receiver.programme({ fault: 'late_commit', key: scene.target, delayMs: 3_000 });
      await scene.worker();
      await scene.begin();
      await scene.receiver.wait('received', { key: scene.target });
      scene.strike();
      const end = await scene.ended();
      await scene.sinkAtRest();
      return end;
    },
  },
  'server-restart': {
    about: 'Temporal server killed in mid-plan and started again on its file',
    inDoubt: false,
    play: async (scene) => {
      await scene.moveToOwnServer();
      const worker = await scene.worker({ at: 'ended', nth: 2, does: 'wait' });
      await scene.begin();
      await worker.passes('struck');
      await scene.killServer();
      scene.strike();
      worker.proceed();
      await scene.restartServer();
      return scene.ended();
    },
  },
  'worker-gone': {
    about: 'worker killed for good during a send; one that was there all along takes over',
    inDoubt: true,
    play: async (scene) => {
      await scene.receiver.programme({ fault: 'hold_before', key: scene.target });
      const [first, other] = await Promise.all([scene.worker(), scene.standby()]);
      await scene.begin();
      await scene.receiver.wait('held', { key: scene.target });
      other.proceed();
      await other.passes('ready');
      await first.kill();
      scene.strike();
      await scene.receiver.release(scene.target);
      return scene.ended();
    },
  },
  'paused-worker': {
    about: 'worker stopped after a slot, another takes over and finishes, then it is continued',
    inDoubt: true,
    slow: true,
    play: pausedAt('slot_taken', 'ended', 'ended'),
  },
  'paused-and-back': {
    about: 'worker stopped after a slot, continued as soon as another has taken over',
    inDoubt: true,
    slow: true,
    play: pausedAt('slot_taken', 'ended', 'taken_over'),
  },
  'paused-in-client': {
    about: 'worker stopped inside the sink’s client, past every check; continued after another has finished',
    inDoubt: true,
    pausedInClient: true,
    slow: true,
    play: pausedAt('in_client', 'answered', 'ended'),
  },
  'reset-during-send': {
    about: 'workflow reset to its start while an effect is being sent',
    inDoubt: true,
    play: async (scene) => {
      await scene.receiver.programme({ fault: 'hold_before', key: scene.target });
      const worker = await scene.worker();
      const handle = await scene.begin();
      await scene.receiver.wait('held', { key: scene.target });
      await scene.reset(handle);
      scene.strike();
      await worker.passes('epoch_taken', 2);
      await scene.receiver.release(scene.target);
      return scene.ended();
    },
  },
  'reset-after-effects': {
    about: 'workflow reset to its start after all effects were sent',
    inDoubt: false,
    play: async (scene) => {
      await scene.worker();
      const handle = await scene.begin();
      const before = await scene.ended();
      await scene.reset(handle);
      scene.strike();
      return sameAgain(scene, before, () => scene.ended());
    },
  },
  'two-drivers': {
    about: 'the plan started at once in two namespaces on one journal',
    inDoubt: false,
    play: async (scene) => {
      await Promise.all([scene.worker(), scene.worker(null, { namespace: RIVAL_NAMESPACE })]);
      scene.strike();
      return scene.ended(...(await Promise.all([scene.begin(), scene.beginRival()])));
    },
  },
  'two-drivers-mid-send': {
    about: 'the plan started in a second namespace while the first sends an effect',
    inDoubt: true,
    play: async (scene) => {
      await scene.receiver.programme({ fault: 'hold_before', key: scene.target });
      const [, rival] = await Promise.all([scene.worker(), scene.worker(null, { namespace: RIVAL_NAMESPACE })]);
      const handle = await scene.begin();
      await scene.receiver.wait('held', { key: scene.target });
      scene.strike();
      const second = await scene.beginRival();
      await rival.passes('epoch_taken');
      await scene.receiver.release(scene.target);
      return scene.ended(handle, second);
    },
  },
  'task-failed': {
    about: 'workflow task failed after drive: a bad release, then the good one again',
    inDoubt: false,
    play: async (scene) => {
      const [bad, good] = await Promise.all([scene.worker(null, { bundle: 'faulty' }), scene.standby()]);
      const handle = await scene.begin();
      await scene.taskFailed(handle);
      await bad.kill();
      scene.strike();
      good.proceed();
      const end = await scene.ended();
      if ((await scene.drives(handle)) !== 1) scene.problems.push('the answer of drive was not used again');
      return end;
    },
  },
  'independent-slot': {
    about: 'independent order: SIGKILL after the second slot',
    inDoubt: true,
    order: 'independent',
    play: killedAt('slot_taken', 2),
  },
  'independent-commit': {
    about: 'independent order: SIGKILL while one send has committed without an answer',
    inDoubt: true,
    order: 'independent',
    play: killedWhileHeld('hold_after', 'drop'),
  },
} as const satisfies Record<string, Row>;

export type FaultName = keyof typeof ROWS;
export const FAULT_NAMES = Object.keys(ROWS) as readonly FaultName[];
export const rowOf = (name: FaultName): Row => ROWS[name];
