/**
 * Interleaved timing: each round runs every variant once, in turn, so that whatever else the machine does hits all of them;
 * ratios are of medians.
 */
export type Act = (round: number) => Promise<void>;

export interface Variant {
  readonly name: string;
  /** What has to be there before; timed as `name, prepared`. */
  readonly prepare?: Act;
  readonly run: Act;
}

export async function interleave(
  variants: readonly Variant[],
  rounds: number,
): Promise<Readonly<Record<string, number>>> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    // Rotating the order keeps "who comes after whom" from favouring anyone.
    for (let turn = 0; turn < variants.length; turn += 1) {
      const variant = variants[(turn + round) % variants.length] as Variant;
      const timed = async (name: string, act: Act): Promise<void> => {
        const started = performance.now();
        await act(round);
        // The first round warms caches up and is not counted.
        if (round > 0) times.set(name, [...(times.get(name) ?? []), performance.now() - started]);
      };
      if (variant.prepare !== undefined) await timed(`${variant.name}, prepared`, variant.prepare);
      await timed(variant.name, variant.run);
    }
  }
  return Object.fromEntries([...times].map(([name, list]) => [name, median(list)]));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
