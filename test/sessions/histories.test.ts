/**
 * Properties of every recorded history of a tool session, of the queue of a tool, and of a call that people were asked about:
 * - it replays with the present workflow code, and the journal of its sessions verifies strictly;
 * - it holds nothing that was said, asked or answered, no person, and names no folder of the machine it was recorded on;
 * - among them there is each way in which a call can go: by its queue and by Temporal's own, denied, approved, rejected, in doubt and
 *   resolved, taken by nobody, cancelled; and a session and a queue that continued as new;
 * - beside them, there is one of each thing that queues have come to do since, with the mark of each change.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { OWN_WORKFLOWS, RECORDED, testRecorded } from '../support/recorded';

const KINDS = [
  ...['asked', 'asked-approved', 'asked-denied', 'cancelled', 'continued-1', 'continued-2', 'done', 'not-taken'],
  ...['queue-of-absent', 'queue-of-charge', 'queue-of-lose', 'queue-of-pay', 'queue-renewed-1', 'queue-renewed-2'],
  ...['resolved', 'resolved-call'],
];

testRecorded('sessions', KINDS, OWN_WORKFLOWS, () => /planted/);
testRecorded('queues', ['held-up', 'queue-of-listed'], OWN_WORKFLOWS, () => /planted/);

test.each(['queue-heeds-lists', 'queue-answers-rivals', 'queue-alive-shortens-hold'])(
  '%s is recorded',
  async (mark) => {
    const text = await readFile(path.join(RECORDED, 'queues', 'queue-of-listed.json'), 'utf8');
    const data = [...text.matchAll(/"data": ?"([^"]+)"/g)].map(([, each]) =>
      Buffer.from(each ?? '', 'base64').toString(),
    );
    expect(data.some((each) => each.includes(`"${mark}"`))).toBe(true);
  },
);
