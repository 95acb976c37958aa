/** Launchers that come with Countersign. Invariant: importing them needs nothing but Node. */
export { httpLauncher, type HttpLauncherOptions } from './http-launcher';
export {
  modelLauncher,
  UnguardedClient,
  type ForcedClientOptions,
  type ModelLauncherOptions,
  type ModelRequest,
} from './model-launcher';
export { SecondRequestRefused } from './guarded-fetch';
export { processLauncher, type ProcessLauncherOptions } from './process-launcher';
