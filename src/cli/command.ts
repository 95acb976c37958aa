/** The form of one command. Invariant: an action only computes an `Answer`; printing and exiting are not its business. */
import type { Command } from 'commander';
import type { Answer, Output } from './output';

/** What a command is given beside its own arguments and options. */
export interface Context {
  readonly output: Output;
  readonly interrupted: AbortSignal;
}

/** Registers one command; `act` wraps an action so that its answer is kept. */
export type Register = (program: Command, act: Act) => void;
export type Act = <Args extends unknown[]>(
  command: string,
  action: (context: Context, ...args: Args) => Promise<Answer>,
) => (...args: Args) => Promise<void>;
