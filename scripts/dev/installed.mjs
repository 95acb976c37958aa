// `installed.mjs [FOLDER]` ends with 0 when node_modules holds exactly what the lock file asks for on this machine, as npm
// itself recorded at its end. Runs before anything is installed, so it is plain JavaScript without dependencies.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = process.argv[2] ?? fileURLToPath(new URL('../..', import.meta.url));

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

const wanted = packagesOf('package-lock.json');
const present = packagesOf('node_modules/.package-lock.json');

const differs = ([place, { version, integrity, optional, devOptional }]) => {
  const found = present[place];
  if (place === '') return false;
  if (!found) return !optional && !devOptional; // made for another platform
  return found.version !== version || found.integrity !== integrity;
};

process.exitCode = wanted && present && !Object.entries(wanted).some(differs) ? 0 : 1;
