/** Servers of tests end with whoever started them. Invariant: in the one way that adapters use for their children, too. */
export { endWithUs } from '../adapters/end-with-us';
