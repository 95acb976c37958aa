// A plugin cannot register workflows, so yours re-exports the one that carries a plan, beside your own.
export { governedPlan } from 'countersign/workflow';
