/** What people may say of a plan in doubt, in the words of what it is. Invariant: whatever the words, a resolution of the plan is signed. */
import { RESOLUTION_OF_CALL } from '../../rules/invocations/call-resolution';
import { CALL_RESOLUTIONS } from '../../rules/invocations/vocabulary';
import type { Resolution } from '../../rules/receipts/claims';
import type { PlanLook } from '../plan-look';
import { CALL_RESOLUTION_WORDS, RESOLUTION_WORDS } from './words';

export interface WayOn {
  readonly resolution: Resolution;
  readonly words: string;
}

export function waysOn({ call, question }: Pick<PlanLook, 'call' | 'question'>): readonly WayOn[] {
  const offered = question?.resolutions ?? [];
  const ways =
    call === null
      ? offered.map((resolution) => ({ resolution, words: RESOLUTION_WORDS[resolution] }))
      : CALL_RESOLUTIONS.map((word) => ({ resolution: RESOLUTION_OF_CALL[word], words: CALL_RESOLUTION_WORDS[word] }));
  return ways.filter(({ resolution }) => offered.includes(resolution));
}
