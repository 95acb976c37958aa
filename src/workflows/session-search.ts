/**
 * How a session keeps to be found. Invariant: a server refuses attributes that it does not know, so a workflow sets some only where it
 * was started with some, by a client that has looked; they change at most once for all that one task brings.
 */
import type { SearchAttributePair, SearchAttributeUpdatePair } from '@temporalio/common';
import { upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { queueNameOf, toolOfId, type Tool } from '../rules/invocations/names';
import {
  SESSION_ATTRIBUTE,
  STATUS_ATTRIBUTE,
  TOOLS_ATTRIBUTE,
  attributesOfCall,
} from '../rules/invocations/search-attributes';

/** The name under which the session that runs here can be found; undefined where nobody looks. */
export function foundAs(): string | undefined {
  return workflowInfo().typedSearchAttributes.get(SESSION_ATTRIBUTE);
}

/** What the workflow of a call is started with. */
export function searchOfCall(toolId: string | undefined): { typedSearchAttributes?: SearchAttributePair[] } {
  const session = foundAs();
  const tool = toolId === undefined ? null : toolOfId(toolId);
  return session === undefined || tool === null ? {} : { typedSearchAttributes: attributesOfCall(session, tool) };
}

export class SessionSearch {
  private readonly set = new Map<string, string>();
  private wanted: readonly SearchAttributeUpdatePair[] = [];

  tell(status: string, open: readonly Tool[]): void {
    if (foundAs() === undefined) return;
    if (this.wanted.length === 0) void Promise.resolve().then(() => this.upsert());
    const tools = [...new Set(open.map(queueNameOf))].sort();
    this.wanted = [
      { key: STATUS_ATTRIBUTE, value: status },
      { key: TOOLS_ATTRIBUTE, value: tools.length === 0 ? null : tools },
    ];
  }

  private upsert(): void {
    const changed = this.wanted.filter(({ key, value }) => this.set.get(key.name) !== JSON.stringify(value));
    this.wanted = [];
    for (const { key, value } of changed) this.set.set(key.name, JSON.stringify(value));
    if (changed.length > 0) upsertSearchAttributes(changed);
  }
}
