/** What the workers of this example carry: the session, the queue of its tool, and the plan of each call that people are asked about. */
export { governedPlan, toolQueue, toolSession } from 'countersign/workflow';
