/**
 * Who is launched: a scripted child process, and, where a key is configured, a real model for one of the specialists. Either is asked once for
 * one receipt; the model's client could not ask again if it wanted to.
 */
import path from 'node:path';
import type { LauncherDefinition } from 'countersign';
import { modelLauncher, processLauncher } from 'countersign/launchers';

export const SCRIPTED = { provider: 'scripted', model: 'specialist-1' } as const;
const { OPENAI_API_KEY: key, OPENAI_MODEL: model = 'gpt-5-mini' } = process.env;
const base = process.env.OPENAI_BASE_URL ?? 'https://api.openai.com/v1';

/** Of the specialist for the tone. */
export const TONE = key === undefined || key === '' ? SCRIPTED : { provider: 'openai', model };

const script = path.join(__dirname, '..', 'specialist.mjs');

export const launchers: readonly LauncherDefinition[] = [
  { ...SCRIPTED, launcher: processLauncher({ command: process.execPath, args: [script], lifetimeMs: 60_000 }) },
  ...(TONE === SCRIPTED ? [] : [{ ...TONE, launcher: modelLauncher({ client: (forced) => forced, call: ask }) }]),
];

const QUESTION =
  'Look for exaggeration in the text. Answer as JSON: {"findings": [{"find": "words of the text", "replace": "plain words"}]}; ' +
  'an empty list when there is none.';

async function ask(
  { fetch }: { readonly fetch: typeof globalThis.fetch },
  { context, signal }: { readonly context: unknown; readonly signal: AbortSignal },
): Promise<unknown> {
  const { target } = context as { target: string };
  const messages = [
    { role: 'system', content: QUESTION },
    { role: 'user', content: target },
  ];
  const reply = await fetch(`${base}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages, response_format: { type: 'json_object' } }),
    signal,
  });
  if (!reply.ok) throw new Error(`the provider answered ${reply.status}`);
  const { choices } = (await reply.json()) as { choices: { message: { content: string } }[] };
  const { findings } = JSON.parse(choices[0]?.message.content ?? '{}') as { findings: unknown[] };
  return { outcome: findings.length === 0 ? 'conforms' : 'departs', content: { findings } };
}
