/**
 * Countersign for workers: the plugin, the ports, and what a refusal looks like. Workflow code imports
 * `countersign/workflow` instead.
 */
export { CountersignPlugin, type CountersignPluginOptions } from './plugin';
export { defineEffect, type DefinedEffect, type EffectOptions } from './effects';
export { CountersignToolWorker, type CountersignToolWorkerOptions, type ToolAllowance } from './tool-worker';
export {
  defineTool,
  descriptorHash,
  mcpTools,
  ToolError,
  ToolOutcomeUnknown,
  type ToolCall,
  type ToolFound,
  type McpToolOptions,
  type McpToolsOptions,
  type ToolHandler,
} from './adapters/tools';
export type { McpAddress, McpProgram, McpResult } from './adapters/sinks';
export type { ToolDescriptor } from './session-tools';
export type { PolicyRule } from './rules/invocations/policy';
export { putContent, readContent } from './refs';
export type { OrRef, Ref } from './rules/calls/ref';
export { initJournal, type JournalMade } from './journal-init';
export { eraseContents, type Erased, type EraseOptions } from './erase-contents';
export type { ApprovalPolicy } from './activities/engine';
export type { LauncherDefinition } from './activities/launchers';
export type { CheckDefinition } from './activities/checks';
export type { ApprovalDeadline, ApprovalRule, DeadlineAction } from './rules/receipts/approval-rule';
export {
  StoreError,
  type CheckAnswer,
  type CheckQuestion,
  type ContentCheck,
  type ContentStore,
  type CreateOutcome,
  type DispatchOutcome,
  type EffectDefinition,
  type EffectSink,
  type InProcessCheck,
  type KeyEnforcement,
  type LaunchContext,
  type Launcher,
  type LaunchJob,
  type LaunchOutcome,
  type LookupStrength,
  type Model,
  type ModelAnswer,
  type ModelMessage,
  type ModelRequest,
  type Reviewers,
  type SideEffectClass,
  type SinkAnswer,
  type SinkContext,
  type SinkItem,
  type Store,
  type StoreErrorCode,
  type SubmitAnswer,
  type WorkerDoor,
  type WorkerDoors,
  type WorkerExit,
} from './ports';
export { Refusal, REFUSAL_CODES, type RefusalCode } from './rules/refusal';
