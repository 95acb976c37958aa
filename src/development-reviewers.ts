/**
 * Reviewers for a worker in development that was given none. Invariant: the key is made when somebody is first asked to decide,
 * not before, and the worker's log says each time that it alone decides everything.
 */
import { log } from '@temporalio/activity';
import { developmentKey, type DevelopmentKey } from './adapters/reviewers';
import type { Reviewers } from './ports';
import { Refusal } from './rules/refusal';

/** `folder` holds the key. @default the caller's own key folder */
export function developmentReviewers(folder?: string): Reviewers {
  let made: Promise<DevelopmentKey> | null = null;
  const keyOnce = async (): Promise<DevelopmentKey> => {
    const development = await developmentKey(folder);
    log.warn(`countersign: ${development.notice}`);
    return development;
  };
  return {
    load: async (kid) => {
      made ??= keyOnce();
      try {
        return await (await made).reviewers.load(kid);
      } catch {
        made = null;
        throw new Refusal('reviewers_unavailable', 'the development key cannot be read; give the plugin "reviewers"');
      }
    },
  };
}
