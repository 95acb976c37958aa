/**
 * What durable timers have waited for attempts of effects. Invariant: an attempt is credited only with what was waited for it; that
 * it has been quiet stays so, while a sink that is asked anew gets its whole patience again.
 */
import { SINK_WAIT } from '../rules/sends/proof';

type Attempt = readonly [ordinal: number, attempt: number];

export class Waited {
  private readonly byAttempt = new Map<string, number>();

  credit(attempts: readonly Attempt[], ms: number): void {
    for (const [ordinal, attempt] of attempts) {
      const at = `${ordinal}/${attempt}`;
      this.byAttempt.set(at, (this.byAttempt.get(at) ?? 0) + ms);
    }
  }

  forgetSinks(): void {
    for (const at of this.byAttempt.keys()) if (at.endsWith(`/${SINK_WAIT}`)) this.byAttempt.delete(at);
  }

  get record(): readonly (readonly [ordinal: number, attempt: number, ms: number])[] {
    return [...this.byAttempt].map(([at, ms]) => [...(at.split('/').map(Number) as [number, number]), ms] as const);
  }
}
