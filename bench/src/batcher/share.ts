/**
 * How the adaptive batcher compares with the best fixed setting, without the luck of the draw.
 *
 * The best of twelve noisy medians is better than what it can repeat: the setting that was lucky
 * wins. So for each round the best setting is chosen by the other rounds, and compared in this one.
 */

import { median } from '../suite.js';

/** The rounds of a fixed setting. */
export interface FixedRounds {
  readonly setting: string;
  readonly rounds: readonly number[];
}

/** What `shareOfBest` has found. */
export interface Share {
  /** The median over the rounds of the adaptive value by that of the best fixed setting. */
  readonly share: number;
  /** The adaptive median by the best of all medians: too small by the luck of the best. */
  readonly shareOfLuckiest: number;
  /** The setting with the best median. */
  readonly best: FixedRounds | undefined;
}

/** Compares rounds of values of which more is better; settings need as many rounds as `adaptive`. */
export function shareOfBest(adaptive: readonly number[], fixed: readonly FixedRounds[]): Share {
  const [best] = [...fixed].sort((a, b) => median(b.rounds) - median(a.rounds));
  const shares = adaptive.map((value, round) => {
    const others = (rounds: readonly number[]): readonly number[] =>
      rounds.length > 1 ? rounds.filter((_, place) => place !== round) : rounds;
    const mean = (rounds: readonly number[]): number =>
      rounds.reduce((sum, one) => sum + one, 0) / rounds.length;
    const [chosen] = [...fixed].sort((a, b) => mean(others(b.rounds)) - mean(others(a.rounds)));
    return value / (chosen?.rounds[round] ?? Number.NaN);
  });
  const shareOfLuckiest = median(adaptive) / median(best?.rounds ?? []);
  return { share: median(shares), shareOfLuckiest, best };
}
