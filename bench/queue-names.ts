/** Where the plain activities of the queue's bench are done. */
export const PLAIN_TASK_QUEUE = 'bench-plain';
