/**
 * What the scenarios of governed plans share. `scenarios.test.ts` tells each of them twice: with workflows kept in the
 * worker's cache, and with a replay at every step.
 */
import { ApplicationFailure } from '@temporalio/common';
import type { PlanStatus } from '../../../src/client';
import { failureOf, type Rig } from '../../support/rig';

export type Scenario = (rig: Rig) => Promise<void>;
export type Scenarios = Readonly<Record<string, Scenario>>;

export const parkedFor =
  (reason: PlanStatus['reason']) =>
  (status: PlanStatus): boolean =>
    status.state === 'parked' && status.reason === reason;

export const states = (outcome: { readonly effects: readonly { readonly state: string }[] }): string[] =>
  outcome.effects.map(({ state }) => state);

/** The type of the failure that ends a workflow. */
export async function codeOf(result: Promise<unknown>): Promise<string | null | undefined> {
  const failure = await failureOf(result);
  return failure instanceof ApplicationFailure ? failure.type : failure.constructor.name;
}

/** The runs that the journal knows. */
export async function runsIn(rig: Rig): Promise<readonly string[]> {
  return (await rig.journal.list('')).filter((name) => name !== 'journal.json');
}
