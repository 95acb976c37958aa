/**
 * By which HTTP status a provider says that it did not do what was asked. Invariant: one list for every launcher that speaks HTTP; a
 * status that is not on it proves nothing, for what answers it may have done the work.
 */
const REFUSING_STATUSES: ReadonlySet<number> = new Set([400, 401, 402, 403, 404, 405, 413, 415, 422, 429]);

export function isRefusing(status: number): boolean {
  return REFUSING_STATUSES.has(status);
}
