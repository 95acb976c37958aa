/**
 * Filling an operator's template with fields of an operation: `--amount={amount}`, `/orders/{order.id}`.
 *
 * Invariant: only own scalar fields are used, each through the caller's escape; anything missing or refused by it yields `null`,
 * never a half-filled text.
 */

const PLACEHOLDER = /\{([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)\}/g;

function scalar(operation: unknown, path: string): string | null {
  let value = operation;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value))
    ? String(value)
    : null;
}

/** Makes a value safe where it stands, or refuses it. `leading`: nothing stands before it in the template. */
export type Escape = (value: string, leading: boolean) => string | null;

export function fillTemplate(template: string, operation: unknown, escape: Escape): string | null {
  let whole = true;
  const filled = template.replace(PLACEHOLDER, (_, path: string, at: number) => {
    const value = scalar(operation, path);
    const safe = value === null ? null : escape(value, at === 0);
    if (safe === null) whole = false;
    return safe ?? '';
  });
  return whole ? filled : null;
}
