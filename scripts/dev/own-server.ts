/** Environments for processes that belong to a server started here, whatever cluster the caller's own settings point to. */
export function withoutTemporalSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}
