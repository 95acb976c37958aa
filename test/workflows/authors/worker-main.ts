/** A worker of an author that kills itself at one point of `drive`. */
import { runDying } from '../../support/dying-worker';
import { effectsAt } from './effects';

void runDying<{ readonly sinkUrl: string }>(({ sinkUrl }, at) => ({ effects: effectsAt(sinkUrl), at }));
