/**
 * What the activities of sessions work with. Invariant: the engine knows no Temporal; models and tools come in through ports and
 * descriptors, and everything that a session is stands in its journal.
 */
import type { ContentCheck, Model } from '../ports';
import { toolIdOf, queueNameOf } from '../rules/invocations/names';
import type { Policies } from '../rules/invocations/policy';
import { Refusal } from '../rules/refusal';
import type { SideEffectClass } from '../rules/sends/traits';
import type { Contents } from './contents';
import type { Journal } from './journal';
import type { SessionShelf } from './session-shelf';

/** A tool as the workers of sessions know it. */
export interface SessionTool {
  readonly tool: string;
  /** Null for a tool without a version. */
  readonly version: string | null;
  readonly toolId: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly checkInput: ContentCheck;
  readonly sideEffect: SideEffectClass;
  /** Of its name, version, class and schema; whoever sends a call must have the same. */
  readonly descriptorHash: string;
  readonly capacity: 'queue' | 'native';
  readonly queueWaitMs: number;
  readonly queueBound: number;
  readonly executionMs: number;
}

export type SessionToolFields = Omit<SessionTool, 'toolId'>;

/** Moments at which a crash is interesting. Used by tests only. */
export type SessionPoint = 'model_asked' | 'model_answered' | 'round_recorded' | 'call_planned';

export interface SessionEngine {
  readonly journal: Journal;
  readonly contents: Contents;
  readonly shelf: SessionShelf;
  readonly models: Models;
  readonly tools: SessionTools;
  readonly policies: Policies;
  readonly withDeadline: <T>(ms: number, call: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly at?: (point: SessionPoint) => void | Promise<void>;
}

export class Models {
  private readonly byName = new Map<string, Model>();

  constructor(models: readonly Model[]) {
    for (const model of models) {
      if (this.byName.has(model.name)) throw new Error(`two models are named "${model.name}"; give one another name`);
      this.byName.set(model.name, model);
    }
  }

  get size(): number {
    return this.byName.size;
  }

  get longestDeadlineMs(): number {
    return Math.max(0, ...[...this.byName.values()].map(({ deadlineMs }) => deadlineMs));
  }

  get(name: string): Model {
    const model = this.byName.get(name);
    if (model !== undefined) return model;
    throw new Refusal('no_adapter', 'is no model of this worker; name it in the "models" of its plugin', name);
  }
}

export class SessionTools {
  private readonly byQueue = new Map<string, SessionTool>();

  constructor(tools: readonly SessionToolFields[]) {
    for (const tool of tools) {
      const queue = queueNameOf(tool);
      if (this.byQueue.has(queue)) throw new Error(`${queue} is described twice; keep one description of it`);
      this.byQueue.set(queue, { ...tool, toolId: toolIdOf(tool) });
    }
  }

  get all(): readonly SessionTool[] {
    return [...this.byQueue.values()];
  }

  get(tool: { readonly tool: string; readonly version: string | null }): SessionTool {
    const found = this.byQueue.get(queueNameOf(tool));
    if (found !== undefined) return found;
    const reason = 'is no tool of this worker; describe it in the "tools" of its plugin';
    throw new Refusal('no_adapter', reason, queueNameOf(tool));
  }
}
