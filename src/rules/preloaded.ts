/**
 * The rules that workflows use, loaded once for each worker thread and not once for each workflow: compiled code stays warm.
 * Invariant: what is listed here keeps no state that one workflow could leave for another (a memory of what is derived from
 * an object that never changes is none).
 */
import './launches/job-order';
import './plans/plan';
import './receipts/question';
import './sends/witness';
import './verification/job';
import './verification/job-timers';
import './verification/run-book';
