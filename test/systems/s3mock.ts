/**
 * S3Mock, fetched from Maven: the server that takes `If-None-Match: *` and overwrites all the same.
 *
 * Invariant: as of `ServerProcess`. As published it opens one port on all interfaces; it is only ever started by our launcher,
 * which puts all of them on 127.0.0.1.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { type Missing } from './system';
import { cachedBuild } from './cached-build';
import { answersHttp, S3Server } from './s3-server';
import { ServerProcess } from './server-process';

const ARTIFACT = 'com.adobe.testing:s3mock:4.2.0:jar:exec';
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
const LAUNCHER = path.join(__dirname, 's3mock', 'Loopback.java');
const BUILD_WITHIN_MS = 5 * 60_000;

export async function startS3Mock(): Promise<S3Server | Missing> {
  const classPath = findS3Mock();
  if (typeof classPath !== 'string') return classPath;
  const server = await ServerProcess.open({
    name: 's3mock',
    command: (port, folder) => [
      'java',
      '-Xmx256m',
      '-XX:TieredStopAtLevel=1',
      '-cp',
      classPath,
      'Loopback',
      '--server.ssl.enabled=false',
      '--server.address=127.0.0.1',
      `--server.port=${port}`,
      '--com.adobe.testing.s3mock.http-port=0', // its second connector, which nobody uses
      `--com.adobe.testing.s3mock.store.root=${folder}`,
    ],
    answers: answersHttp,
    readyWithinMs: 120_000,
  });
  return new S3Server(server);
}

/** The class path of S3Mock unpacked, with our launcher. */
function findS3Mock(): string | Missing {
  try {
    const folder = cachedBuild('s3mock-4.2.0', (made) => {
      const run = (command: string, ...args: string[]): void => {
        execFileSync(command, args, { cwd: made, stdio: ['ignore', 'ignore', 'pipe'], timeout: BUILD_WITHIN_MS });
      };
      run('mvn', '-q', '-B', COPY, `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${made}`);
      const [jar] = readdirSync(made).filter((name) => name.endsWith('.jar')) as [string];
      run('java', '-Djarmode=tools', '-jar', jar, 'extract', '--destination', 'app');
      copyFileSync(LAUNCHER, path.join(made, 'Loopback.java'));
      run('javac', '-cp', ['app/*', 'app/lib/*'].join(path.delimiter), '-d', 'launcher', 'Loopback.java');
    });
    return ['launcher', 'app/*', 'app/lib/*'].map((part) => path.join(folder, part)).join(path.delimiter);
  } catch (fault) {
    const { code, path: program } = fault as NodeJS.ErrnoException;
    return {
      missing:
        code === 'ENOENT'
          ? `it is fetched and started with a JDK and Maven, and "${program}" is not installed; install JDK 17 or newer and Maven`
          : 'it could not be fetched from Maven; give access to a Maven repository',
    };
  }
}
