/** One process that does one thing: its answer, or `killed`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export async function runChild(script: string, args: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, ['--require', 'tsx/cjs', path.join(__dirname, script), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let answer: unknown = null;
  child.on('message', (message) => (answer = message));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal === 'SIGKILL') return 'killed';
  if (answer !== null && typeof answer === 'object' && 'value' in answer) return answer.value;
  throw new Error(`${script} ended with ${code}: ${JSON.stringify(answer)}`);
}
