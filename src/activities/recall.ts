/**
 * What effects gave back. Invariant: only of effects that the chain says are committed, only the fields that their definition
 * lists, and always the result that was recorded first, whatever the sink says later.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { contentJson } from '../rules/plans/content-json';
import type { GovernedPlan } from '../rules/plans/plan';
import { Refusal } from '../rules/refusal';
import type { EffectResultRecord } from './contract';
import type { Engine } from './engine';
import { lookUp, type Target } from './look-up';
import { saidResults } from './said';

/** Exposed fields of one plan, as text: the whole result of a drive has to fit into one payload. */
const MOST_EXPOSED_CHARACTERS = 512 * 1024;

export async function recall(
  engine: Engine,
  plan: GovernedPlan,
  head: RecoveryCheckpoint,
): Promise<readonly EffectResultRecord[]> {
  const targets = committedTargets(engine, plan, head);
  const recorded = await Promise.all(targets.map((target) => recordedResult(engine, plan.runId, target)));
  const unrecorded = targets.filter((_target, index) => recorded[index] === null);
  const asked = new Map(await askSinks(engine, plan.runId, unrecorded));
  const untold = unrecorded.filter(({ ordinal }) => !asked.has(ordinal));
  for (const [ordinal, digest] of await saidResults(engine, head, untold)) asked.set(ordinal, digest);
  let room = MOST_EXPOSED_CHARACTERS;
  const results: EffectResultRecord[] = [];
  for (const [index, target] of targets.entries()) {
    const digest = recorded[index] ?? asked.get(target.ordinal) ?? null;
    const exposed = digest === null ? null : await exposedOf(engine, target, digest);
    room -= exposed === null ? 0 : contentJson(exposed).length;
    results.push({ ordinal: target.ordinal, result_digest: digest, exposed: room < 0 ? null : exposed });
  }
  return results;
}

/** The committed effects whose definition wants their result. Their content may have been erased: it is read only if needed. */
function committedTargets(engine: Engine, plan: GovernedPlan, head: RecoveryCheckpoint): readonly Target[] {
  return plan.effects.flatMap((effect, ordinal) => {
    const definition = engine.registry.find(effect.toolId);
    const record = head.effects[ordinal];
    if (record?.state !== 'committed' || definition?.checkOutput === undefined) return [];
    const { toolId, actionId, operationDigest } = effect;
    const item = { toolId, actionId, operationDigest, idempotencyKey: record.idempotencyKey, operation: null };
    return [{ ordinal, definition, item }];
  });
}

async function recordedResult(engine: Engine, runId: string, { item }: Target): Promise<string | null> {
  const [settled, slots] = await Promise.all([
    engine.contents.settledResult(item.idempotencyKey),
    engine.journal.slots(runId, item.idempotencyKey),
  ]);
  // A sender that was thought dead may still end its slot: what was told once is told again.
  return (
    settled ?? slots.find(({ end }) => end?.outcome === 'acked' && end.resultDigest !== null)?.end?.resultDigest ?? null
  );
}

/** The sender did not live to record it: what the sink says now is kept as what it said. */
async function askSinks(
  engine: Engine,
  runId: string,
  targets: readonly Target[],
): Promise<readonly (readonly [ordinal: number, digest: string])[]> {
  const whole = (await Promise.all(targets.map((target) => withOperation(engine, target)))).flat();
  const answers = await lookUp(engine, whole);
  const kept = whole.map(async ({ ordinal, item }, index) => {
    const answer = answers[index];
    if (answer?.state !== 'committed' || answer.operationDigest !== item.operationDigest) return [];
    if (answer.result === undefined) return [];
    const digest = await orNull('invalid_plan', engine.contents.putResult(runId, item.idempotencyKey, answer.result));
    return digest === null ? [] : [[ordinal, await engine.contents.settleResult(item.idempotencyKey, digest)] as const];
  });
  return (await Promise.all(kept)).flat();
}

async function withOperation(engine: Engine, target: Target): Promise<readonly Target[]> {
  const held = engine.contents.operation(target.item.operationDigest).then((operation) => ({ operation }));
  const found = await orNull('content_missing', held);
  return found === null ? [] : [{ ...target, item: { ...target.item, ...found } }];
}

/** Null for a result that was erased, or that its schema does not know. */
async function exposedOf(
  engine: Engine,
  { definition }: Target,
  digest: string,
): Promise<Record<string, unknown> | null> {
  const held = engine.contents.content(digest).then((result) => ({ result }));
  const found = await orNull('content_missing', held);
  const answer = found === null ? null : await definition.checkOutput?.(found.result);
  if (answer?.ok !== true || typeof answer.value !== 'object' || answer.value === null) return null;
  const fields = answer.value as Record<string, unknown>;
  const listed = (definition.exposed ?? []).filter((field) => fields[field] !== undefined);
  const exposed = Object.fromEntries(listed.map((field) => [field, fields[field]]));
  return orNull(
    'invalid_plan',
    Promise.resolve().then(() => JSON.parse(contentJson(exposed)) as typeof exposed),
  );
}

async function orNull<T>(code: Refusal['code'], answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (fault) {
    if (fault instanceof Refusal && fault.code === code) return null;
    throw fault;
  }
}
