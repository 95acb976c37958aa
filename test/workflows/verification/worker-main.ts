/** A worker that kills itself at one moment of a run: `launch:<point>`, or `<record type>:<n-th of them>`. */
import { runDying } from '../../support/dying-worker';
import { checks, paidLauncher, reviewers } from './support';

void runDying<{ readonly providerUrl: string }>(({ providerUrl }, at) => ({
  launchers: [paidLauncher(providerUrl)],
  ...{ reviewers, checks },
  atLaunch: (point) => at(`launch:${point}`),
  atRecord: ({ type }) => at(type),
}));
