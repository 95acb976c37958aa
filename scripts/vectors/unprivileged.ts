/**
 * Gives up the superuser's rights for the rest of a process, where it has them: file modes mean nothing to a superuser.
 */
const NOBODY = 65534;

export function isSuperuser(): boolean {
  return process.geteuid?.() === 0;
}

/** Afterwards nothing can be loaded from folders that only their owner may read: import first. */
export function becomeUnprivileged(): void {
  if (!isSuperuser()) return;
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}
