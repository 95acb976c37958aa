/**
 * `proxyEffects`: a worker's effects as functions of a workflow. Invariant: what an effect is comes from its name and the id
 * that its author gives, never from where in the workflow it is called, so loops, resets and rewrites keep it the same.
 */
import type { CallOptions, EffectProxies, EffectResult, PlannedCall } from '../rules/calls/signature';
import { perform, type ProxyOptions } from './calls';

/**
 * ```ts
 * import type { effects } from './effects';
 * const { charge } = proxyEffects<typeof effects>();
 * const paid = await charge({ amount: 500 }, { id: 'order-7' });
 * ```
 */
export function proxyEffects<Effects>(options: ProxyOptions = {}): EffectProxies<Effects> {
  return new Proxy({} as EffectProxies<Effects>, {
    get: (_target, name) => (typeof name === 'string' && name !== 'then' ? proxyOf(name, options) : undefined),
  });
}

function proxyOf(effect: string, options: ProxyOptions): unknown {
  const of = (args: unknown, { id }: CallOptions): PlannedCall => ({ effect, id, args });
  const call = async (args: unknown, { id }: CallOptions): Promise<EffectResult> => {
    const [result] = await perform({ ...options, effect, id, order: 'ordered', calls: [{ effect, id, args }] });
    return result as EffectResult;
  };
  return Object.assign(call, { of });
}
