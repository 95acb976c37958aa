/** `preview`: asks the sinks what they hold. Invariant: nothing is sent, stored or appended, and no driver is disturbed. */
import type { PreviewedEffect } from '../../activities/contract';
import { Refusal } from '../../rules/refusal';
import { EXIT, PREVIEW_EXITS, type ExitName } from '../exit-codes';
import { table, type Answer } from '../output';
import { readPlanFile } from '../plan-file';
import type { Context, Register } from '../command';
import { connect } from '../service';
import { withOptions, type Settings } from '../settings';

export const previewCommand: Register = (program, act) => {
  const command = program
    .command('preview')
    .description('look up what the sinks already hold of a plan that was made; change nothing')
    .argument('<file>', 'plan, JSON');
  withOptions(command, 'journal', 'taskQueue').action(act('preview', preview));
};

async function preview({ interrupted }: Context, file: string, options: Settings): Promise<Answer> {
  const read = readPlanFile(file);
  if (read.form === 'draft') {
    const reason =
      'is missing, so this is a draft; make it with "countersign plan" first, as a look-up needs its digests';
    throw new Refusal('invalid_plan', reason, 'schema_version');
  }
  const service = await connect(options);
  try {
    const asked = service.plans.preview(read.plan);
    const stopped = new Promise<null>((resolve) =>
      interrupted.addEventListener('abort', () => resolve(null), { once: true }),
    );
    const outcome = await Promise.race([asked, stopped]);
    if (outcome === null) {
      const message = 'the look-ups go on without you, and change nothing';
      return { failure: { code: 'interrupted', message, field: null, exit: 'interrupted' } };
    }
    const effects = outcome.preview ?? [];
    const rows = effects.map((effect, ordinal) => [String(ordinal), effect.tool_id, effect.state, effect.proof ?? '']);
    const lines = effects.length === 0 ? ['this run has ended; nothing would be sent'] : table(rows);
    return answer(outcome, lines, effects);
  } finally {
    await service.close();
  }
}

function answer(data: unknown, lines: readonly string[], effects: readonly PreviewedEffect[]): Answer {
  const doubtful = effects.findIndex((effect) => EXIT[PREVIEW_EXITS[effect.state]] !== EXIT.done);
  const state = effects[doubtful]?.state;
  if (state === undefined) return { data, lines };
  const exit: ExitName = PREVIEW_EXITS[state];
  const code = state === 'changed' ? 'effect_mismatch' : 'ambiguous_effect';
  const message = `effect ${doubtful} would need a person: what its sink holds is ${state}`;
  return { data, lines, failure: { code, message, field: `effects[${doubtful}]`, exit } };
}
