/** Where things stand in this repository. Invariant: what is fetched or made at run time stays below `.cache/`. */
import path from 'node:path';

export const REPOSITORY = path.resolve(__dirname, '..', '..');
export const CACHE = path.join(REPOSITORY, '.cache');
