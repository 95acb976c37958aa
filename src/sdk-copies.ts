/**
 * Detects two copies of the Temporal SDK in one process. Invariant: a worker with two copies never starts, because they
 * would turn every failure into endless task failures without saying why.
 */
const PACKAGES = ['common', 'worker', 'workflow', 'activity', 'client'];

/** `loaded` are the file names of all loaded modules. */
export function refuseTwoSdkCopies(loaded: readonly string[] = Object.keys(require.cache)): void {
  for (const name of PACKAGES) {
    const entry = new RegExp(`^(.*[\\\\/]@temporalio[\\\\/]${name})[\\\\/]lib[\\\\/]index\\.js$`);
    const copies = new Set(loaded.flatMap((file) => entry.exec(file)?.[1] ?? []));
    if (copies.size > 1) {
      throw new Error(
        `Two copies of @temporalio/${name} are loaded (${[...copies].join(' and ')}); ` +
          'install one version only: run "npm ls @temporalio/common" and dedupe it.',
      );
    }
  }
}
