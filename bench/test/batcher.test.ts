import { describe, expect, it } from 'vitest';

import { shareOfBest } from '../src/batcher/share.js';

describe('the share of the best fixed setting', () => {
  it('is that of the setting that is best in the other rounds', () => {
    const lucky = { setting: 'lucky', rounds: [300, 60, 60] };
    const good = { setting: 'good', rounds: [100, 100, 100] };
    const { share, best } = shareOfBest([90, 90, 90], [lucky, good]);
    // Only the second and third round, where `lucky` has the better mean, compare with it.
    expect(share).toBe(1.5);
    expect(best?.setting).toBe('good');
  });

  it('is not reduced by the luck of the best of many', () => {
    // Twelve settings and an adaptive one, all equally good, with noise.
    let state = 7;
    const noise = (): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return 50 + (100 * state) / 2 ** 32;
    };
    const shares: number[] = [];
    const lucky: number[] = [];
    for (let run = 0; run < 400; run++) {
      const rounds = (): number[] => Array.from({ length: 5 }, noise);
      const fixed = Array.from({ length: 12 }, (_, n) => ({ setting: `${n}`, rounds: rounds() }));
      const { share, shareOfLuckiest } = shareOfBest(rounds(), fixed);
      shares.push(share);
      lucky.push(shareOfLuckiest);
    }
    const middle = (values: number[]): number => values.sort((a, b) => a - b)[200] ?? 0;
    expect(middle(shares)).toBeGreaterThan(0.95);
    expect(middle(shares)).toBeLessThan(1.05);
    expect(middle(lucky)).toBeLessThan(0.85);
  });

  it('of a single round is that of the best in this round', () => {
    const fixed = [
      { setting: 'a', rounds: [100] },
      { setting: 'b', rounds: [200] },
    ];
    expect(shareOfBest([150], fixed)).toMatchObject({ share: 0.75, shareOfLuckiest: 0.75 });
  });
});
