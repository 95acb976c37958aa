/**
 * What a session is: its agent, model, tools and instructions. Invariant: it is fixed when the session begins, by put-if-absent, and
 * the first event of the log names its digest; whoever asks for something in the session's name cannot change it.
 */
import { Fields, parseRecord, type Dict } from '../fields';
import { isSessionName, isToolName, isToolVersion, type Tool } from '../invocations/names';
import { SIDE_EFFECT_CLASSES } from '../invocations/vocabulary';
import type { SideEffectClass } from '../sends/traits';
import { canonicalJson, isDigest, sha256Digest } from '../recovery';

export const DEFINITION_SCHEMA_VERSION = 'countersign.session_definition.v1';

/** `sideEffect`: the class that the tool has for this agent, where that is more careful than its own. */
export interface BoundTool extends Tool {
  readonly sideEffect?: SideEffectClass;
}

export interface SessionDefinition {
  readonly session: string;
  readonly agentVersion: string;
  readonly model: string;
  readonly tools: readonly BoundTool[];
  /** Digest of what the model is told first. */
  readonly instructions: string | null;
  /** Digest of the person who asks, whose own approvals of its calls never count; null where nobody is named. */
  readonly requester: string | null;
}

const MODEL_NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;

export function definitionToRecord(definition: SessionDefinition): Dict {
  return {
    schema_version: DEFINITION_SCHEMA_VERSION,
    session_id: definition.session,
    agent_version: definition.agentVersion,
    model: definition.model,
    tools: definition.tools.map(({ tool, version, sideEffect }) => ({
      ...{ tool, version },
      ...(sideEffect === undefined ? {} : { side_effect: sideEffect }),
    })),
    instructions: definition.instructions,
    requester: definition.requester,
  };
}

export function definitionToText(definition: SessionDefinition): string {
  return canonicalJson(definitionToRecord(definition));
}

export function definitionDigest(definition: SessionDefinition): string {
  return sha256Digest(definitionToText(definition));
}

export function definitionFromRecord(value: unknown): SessionDefinition {
  const at = new Fields(value, 'session_definition');
  at.oneOf('schema_version', [DEFINITION_SCHEMA_VERSION]);
  const definition = {
    session: at.text('session_id', 'a session name', isSessionName),
    agentVersion: at.text('agent_version', 'a name of [A-Za-z0-9._-]', isSessionName),
    model: at.text('model', 'the name of a model', (text) => MODEL_NAME.test(text)),
    tools: at.list('tools').map(toolFrom),
    instructions: at.nullable('instructions', (field) => at.text(field, 'a sha256 digest', isDigest)),
    requester: at.nullable('requester', (field) => at.text(field, 'a sha256 digest', isDigest)),
  };
  at.end();
  if (new Set(definition.tools.map(({ tool }) => tool)).size !== definition.tools.length) {
    at.refuse('must name each tool once', 'tools');
  }
  return definition;
}

export function definitionFromBytes(bytes: Uint8Array | string): SessionDefinition {
  return parseRecord(bytes, 'session_definition', definitionFromRecord);
}

function toolFrom(value: unknown, index: number): BoundTool {
  const at = new Fields(value, `session_definition.tools[${index}]`);
  const tool = {
    tool: at.text('tool', 'the name of a tool', isToolName),
    version: at.nullable('version', (field) => at.text(field, 'a version', isToolVersion)),
    ...(at.has('side_effect') ? { sideEffect: at.oneOf('side_effect', SIDE_EFFECT_CLASSES) } : {}),
  };
  at.end();
  return tool;
}
