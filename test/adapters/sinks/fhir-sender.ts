/**
 * A process that sends effects to a FHIR server when it is told to: `fhir-sender.ts BASE_URL`, then `{mode, item}` messages. Answers
 * each with the outcome, or the code of the error that makes it unknown.
 */
import type { SinkItem } from '../../../src/ports';
import { FhirWorld, type Mode } from './fhir-world';
import { sendAndTell } from './support';

export interface SenderOrder {
  readonly mode: Mode;
  readonly item: SinkItem;
}

const world = new FhirWorld(process.argv[2] ?? '');
process.on('message', ({ mode, item }: SenderOrder) => {
  void sendAndTell(world.sink(mode), item).then((told) => process.send?.(told));
});
process.once('disconnect', () => process.exit());
process.send?.('ready');
