/** A worker that kills itself at one moment of a launch. */
import { runDying } from '../../support/dying-worker';
import { paidLauncher, reviewers } from './support';

void runDying<{ readonly providerUrl: string }>(({ providerUrl }, atLaunch) => ({
  launchers: [paidLauncher(providerUrl)],
  reviewers,
  atLaunch,
}));
