/**
 * Workflow code, imported as `countersign/workflow` by your `workflows.ts`. Import nothing else of this package there: the
 * other entries need Node.
 */
export { governedPlan } from './workflows/governed-plan';
export type { ApprovalRejectedDetails } from './workflows/approval-rejected';
export {
  approvalsQuery,
  approveUpdate,
  cancelUpdate,
  lineageQuery,
  reobserveUpdate,
  resolveUpdate,
  statusQuery,
  type EffectOutcome,
  type GovernedPlanInput,
  type KnownHead,
  type PlanAsks,
  type PlanLineage,
  type PlanOutcome,
  type PlanState,
  type PlanStatus,
} from './workflows/messages';
export { proxyEffects } from './workflows/proxy-effects';
export { authorizedJob } from './workflows/authorized-job';
export {
  authorizedLaunch,
  type AuthorizedLaunchOptions,
  type LaunchEnd,
  type LaunchToAuthorize,
} from './workflows/authorized-launch';
export { jobStatusQuery, submitUpdate, type AuthorizedJobInput, type JobStatus } from './workflows/job-messages';
export { verificationRun } from './workflows/verification-run';
export {
  affirmUpdate,
  applyUpdate,
  authorizeUpdate,
  cancelRunUpdate,
  obligationsQuery,
  openedUpdate,
  refreshUpdate,
  runStatusQuery,
  type RunJob,
  type RunObligations,
  type RunPhase,
  type RunResult,
  type RunStatus,
  type VerificationRunInput,
  type WantedReceipt,
} from './workflows/run-messages';
export { runPlan, type AuthorPlan, type AuthorPlanOutcome } from './workflows/run-plan';
export { toolQueue } from './workflows/tool-queue';
export {
  queueQuery,
  type CallReport,
  type QueueStatus,
  type QueueWorker,
  type ToolQueueInput,
} from './workflows/queue-messages';
export type { ProxyOptions } from './workflows/calls';
export type { CallName, CancelledDetails, RejectedDetails } from './workflows/call-outcome';
export type { OrRef, Ref } from './rules/calls/ref';
export type { CallOptions, EffectProxies, EffectProxy, EffectResult, PlannedCall } from './rules/calls/signature';
export { toolSession } from './workflows/tool-session';
export {
  cancelSessionUpdate,
  completeSessionUpdate,
  heldUpSignal,
  sendUpdate,
  sessionStatusQuery,
  type CallStatus,
  type HeldUp,
  type MessageTaken,
  type SessionLimits,
  type ToolSessionInput,
  type ToolSessionStatus,
  type UserMessage,
} from './workflows/session-messages';
