/** Prints the path of the Temporal CLI, which it fetches when there is none; all else that it says goes to standard error. */
import { ensureTemporalCli } from './temporal-cli';

ensureTemporalCli({ note: (sentence) => console.error(sentence) }).then(
  (cli) => console.log(cli.path),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  },
);
