/** The workflows of a worker with versions, as docs/sessions.md shows them. */
import { setWorkflowOptions } from '@temporalio/workflow';
import { toolSession } from '../../src/workflow';

export { governedPlan, toolQueue, toolSession } from '../../src/workflow';

setWorkflowOptions({ versioningBehavior: 'PINNED' }, toolSession);
