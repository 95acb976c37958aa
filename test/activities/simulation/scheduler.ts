/**
 * Simulated time and processes. Invariant: between two steps nothing happens that the scheduler did not choose: a process
 * stops at every call to a store, a sink or a clock, and goes on only when one of its steps is released or a timer is due.
 */
export type StepKind = 'create' | 'read' | 'look_up' | 'dispatch' | 'point';

/** What goes wrong in a step; null for nothing. Each kind of step reads the number in its own way. */
export type Fault = number | null;

/** An effect that is over and will never be answered. */
export const NO_ANSWER = Symbol('no answer');

export interface Step {
  readonly process: Process;
  readonly kind: StepKind;
  /** What it is about: the path of an entry, or nothing. */
  readonly about: string;
  /** The process was stopped while this step was on its way. */
  delayed: boolean;
  release(fault: Fault): void;
}

interface Timer {
  readonly at: number;
  readonly process: Process | null;
  readonly fire: () => void;
}

/** One execution of `drive`: dies alone, and can be stopped like a process that gets no processor time. */
export class Process {
  paused = false;
  dead = false;
  stopping = false;
  constructor(readonly name: string) {}
  get runs(): boolean {
    return !this.paused && !this.dead;
  }
}

export class Scheduler {
  time = 0;
  private readonly steps = new Set<Step>();
  private readonly timers = new Set<Timer>();

  step<T>(
    process: Process,
    kind: StepKind,
    effect: (fault: Fault, step: Step) => T | typeof NO_ANSWER,
    about = '',
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (process.dead) return;
      const step: Step = {
        process,
        kind,
        about,
        delayed: process.paused,
        release: (fault) => {
          this.steps.delete(step);
          try {
            const answer = effect(fault, step);
            if (answer !== NO_ANSWER) resolve(answer);
          } catch (error) {
            reject(error as Error);
          }
        },
      };
      this.steps.add(step);
    });
  }

  /** Fires after `ms`, but never while its process is stopped. Answers how to call it off. */
  after(process: Process | null, ms: number, fire: () => void): () => void {
    const timer = { at: this.time + Math.max(0, ms), process, fire };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  sleep(process: Process | null, ms: number): Promise<void> {
    return new Promise((resolve) => this.after(process, ms, resolve));
  }

  async withDeadline<T>(process: Process, ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    return new Promise<T>((resolve, reject) => {
      const callOff = this.after(process, ms, () => {
        for (const step of [...this.steps]) {
          // What has not left the process by its deadline never will: the call was aborted.
          if (step.process === process && this.callOf.get(step) === controller) this.steps.delete(step);
        }
        controller.abort();
        reject(new Error('deadline'));
      });
      const before = new Set(this.steps);
      const running = call(controller.signal);
      for (const step of this.steps) if (!before.has(step)) this.callOf.set(step, controller);
      running.then(resolve, reject).finally(callOff);
    });
  }
  private readonly callOf = new Map<Step, AbortController>();

  /** Steps that may be released now, oldest first. */
  ready(process?: Process): readonly Step[] {
    return [...this.steps].filter((step) => step.process.runs && (process === undefined || step.process === process));
  }

  pause(process: Process): void {
    process.paused = true;
    for (const step of this.steps) if (step.process === process) step.delayed = true;
  }

  kill(process: Process): void {
    process.dead = true;
    for (const step of [...this.steps]) if (step.process === process) this.steps.delete(step);
    for (const timer of [...this.timers]) if (timer.process === process) this.timers.delete(timer);
  }

  async release(step: Step, fault: Fault): Promise<void> {
    step.release(fault);
    await this.settle();
  }

  /** Moves the clock; whatever falls due on the way happens at its own time. */
  async advance(ms: number): Promise<void> {
    const end = this.time + ms;
    for (let timer = this.next(end); timer !== null; timer = this.next(end)) await this.fire(timer);
    this.time = Math.max(this.time, end);
  }

  /** Moves the clock to the next timer; false when there is none. */
  async advanceToNext(): Promise<boolean> {
    const timer = this.next(Infinity);
    if (timer === null) return false;
    await this.fire(timer);
    return true;
  }

  /** Lets every process run up to its next step. */
  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  private next(end: number): Timer | null {
    let first: Timer | null = null;
    for (const timer of this.timers) {
      if (timer.at <= end && timer.process?.paused !== true && (first === null || timer.at < first.at)) first = timer;
    }
    return first;
  }

  private async fire(timer: Timer): Promise<void> {
    this.timers.delete(timer);
    this.time = Math.max(this.time, timer.at);
    timer.fire();
    await this.settle();
  }
}
