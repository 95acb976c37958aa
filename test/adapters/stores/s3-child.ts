/** A process with an S3 store: creates entries as its parent says. One argument: the address; credentials come from the environment. */
import { parseS3Address, s3Store } from '../../../src/adapters/stores';
import { bytes } from './values';

export interface Action {
  readonly entries: readonly string[];
  readonly value: string;
}

const store = s3Store(parseS3Address(process.argv[2] as string));

async function perform({ entries, value }: Action): Promise<unknown> {
  const outcomes: string[] = [];
  for (const entry of entries) outcomes.push(await store.create(entry, bytes(value)));
  return outcomes;
}

process.on('message', (action: Action) => {
  perform(action).then(
    (value) => process.send?.({ value }),
    (error: { code?: string; message: string }) => process.send?.({ code: error.code, message: error.message }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
