/**
 * Workflow code, imported as `countersign/workflow` by your `workflows.ts`. Import nothing else of this package there: the
 * other entries need Node.
 */
export { governedPlan } from './workflows/governed-plan';
export {
  cancelUpdate,
  lineageQuery,
  reobserveUpdate,
  statusQuery,
  type EffectOutcome,
  type GovernedPlanInput,
  type KnownHead,
  type PlanLineage,
  type PlanOutcome,
  type PlanState,
  type PlanStatus,
} from './workflows/messages';
