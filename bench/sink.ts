/**
 * The sink of the benchmark: a map with a settable latency. It keeps the first write under each key and finds it again, so
 * plain, hand-written and governed workflows pay for exactly the same outside world.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EffectSink, SinkAnswer, SinkItem } from '../src';

export class BenchSink implements EffectSink {
  readonly kind = 'local_tool';
  readonly lookup = 'authoritative';
  readonly enforcesKey = 'no';
  readonly deadlineMs = 10_000;
  readonly settleMs = 1_000;
  readonly maxInFlight = 1;
  latencyMs = 0;
  writes = 0;
  private readonly rows = new Map<string, string>();

  async write(key: string, digest: string): Promise<void> {
    if (this.latencyMs > 0) await sleep(this.latencyMs);
    this.writes += 1;
    this.rows.set(key, digest);
  }

  async find(key: string): Promise<string | null> {
    if (this.latencyMs > 0) await sleep(this.latencyMs);
    return this.rows.get(key) ?? null;
  }

  async observe(items: readonly SinkItem[]): Promise<readonly SinkAnswer[]> {
    if (this.latencyMs > 0) await sleep(this.latencyMs);
    return items.map(({ idempotencyKey }) => {
      const operationDigest = this.rows.get(idempotencyKey);
      return operationDigest === undefined
        ? { state: 'absent' }
        : { state: 'committed', operationDigest, externalId: idempotencyKey };
    });
  }

  async dispatch(item: SinkItem): Promise<{ outcome: 'accepted'; externalId: string }> {
    await this.write(item.idempotencyKey, item.operationDigest);
    return { outcome: 'accepted', externalId: item.idempotencyKey };
  }
}
