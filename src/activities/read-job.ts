/** What there is to know of a job: the facts of the journal, and whether its submission is still what was submitted. */
import { Refusal } from '../rules/refusal';
import type { JobFiles } from './job-files';
import type { JobFacts, Stored } from './launch-contract';
import type { LaunchEngine } from './launch-engine';

type Contents = Pick<LaunchEngine, 'contents'>;

export async function readJob(
  engine: Contents,
  files: JobFiles,
): Promise<{ readonly facts: JobFacts; readonly stored: Stored }> {
  const facts = await files.facts();
  return {
    facts,
    stored: facts.outcome?.outcome === 'submitted' ? await stored(engine, facts.outcome.submission) : null,
  };
}

async function stored({ contents }: Contents, submission: string): Promise<Stored> {
  try {
    await contents.content(submission);
    return 'intact';
  } catch (fault) {
    if (fault instanceof Refusal && fault.code === 'content_missing') return 'broken';
    throw fault;
  }
}
