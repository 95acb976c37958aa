/**
 * Properties of every recorded history of a verification run:
 * - it replays with the present workflow code, and the journal of its runs verifies strictly;
 * - it holds nothing of what was looked at or said, no credential, no person, and names no folder of the machine it was recorded on.
 */
import { OWN_WORKFLOWS, testRecorded } from '../../support/recorded';

const KINDS = [
  ...['applied', 'cancelled', 'completed', 'completed-coordinator', 'completed-specialist', 'declined', 'lapsed'],
  ...['rechecked', 'refused'],
];

testRecorded('runs', KINDS, OWN_WORKFLOWS, () => /planted|the figures|All of|wrk_/);
