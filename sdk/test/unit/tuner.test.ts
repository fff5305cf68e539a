/**
 * The search for the best batch size, against made-up servers: a throughput as a function of the
 * setting, and a clock that moves as fast as they do.
 */

import { describe, expect, it } from 'vitest';

import type { BatchSetting } from '../../src/batcher/tuner.js';
import { BatchTuner } from '../../src/batcher/tuner.js';

/** Milliseconds that a batch takes when `inFlight` of them run at once. */
type Server = (setting: BatchSetting) => number;

/** A server with a fixed cost a statement and a row, that runs two statements side by side. */
const usual: Server = ({ rows, inFlight }) => (2 + rows * 0.01) * Math.max(1, inFlight / 2);

function rateOf(server: Server, setting: BatchSetting): number {
  return (setting.rows * setting.inFlight * 1000) / server(setting);
}

/** Runs full load for `ms`; returns rows a second of the last half. */
function run(adapter: BatchTuner, server: Server, ms: number, startMs = 0): number {
  let nowMs = startMs;
  let rows = 0;
  while (nowMs < startMs + ms) {
    const { setting } = adapter;
    nowMs += server(setting) / setting.inFlight;
    if (nowMs > startMs + ms / 2) rows += setting.rows;
    adapter.record(setting.rows, nowMs);
  }
  return (rows * 1000) / (ms / 2);
}

function best(server: Server, rowsMax: number, inFlightMax: number): number {
  let found = 0;
  for (let rows = 1; rows <= rowsMax; rows *= 2) {
    for (let inFlight = 1; inFlight <= inFlightMax; inFlight++) {
      found = Math.max(found, rateOf(server, { rows, inFlight }));
    }
  }
  return found;
}

/** Numbers from 0 to 1, the same for the same seed. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The same server on a bad day: batches take 0.6 to 1.4 times as long, one in fifty much longer. */
function noisy(server: Server, random: () => number): Server {
  return (setting) => {
    const factor = random() < 0.02 ? 5 : 0.6 + 0.8 * random();
    return server(setting) * factor;
  };
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

describe('BatchTuner', () => {
  it('is near the best setting in its second second, also where times vary', () => {
    const ratios = Array.from({ length: 101 }, (_, seed) => {
      const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
      // The last half is what counts.
      const rate = run(adapter, noisy(usual, chance(seed)), 2000);
      const average = 0.98 + 0.02 * 5;
      return (rate * average) / best(usual, 4096, 4);
    });
    expect(medianOf(ratios)).toBeGreaterThan(0.94);
  });

  it('stays near it without trying all the time', () => {
    const ratios = Array.from({ length: 51 }, (_, seed) => {
      const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
      const rate = run(adapter, noisy(usual, chance(seed)), 60_000);
      return (rate * 1.08) / best(usual, 4096, 4);
    });
    expect(medianOf(ratios)).toBeGreaterThan(0.95);
  });

  it('keeps near it when rows become wide', () => {
    const narrow: Server = ({ rows, inFlight }) =>
      (5 + rows * 0.0055) * Math.max(1, inFlight / 1.6);
    const wide: Server = ({ rows, inFlight }) =>
      (5 + rows * 0.013 + Math.max(0, rows - 1024) * 0.004) * Math.max(1, inFlight / 2.2);
    const found: number[][] = [[], []];
    for (let seed = 0; seed < 51; seed++) {
      const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
      const random = chance(seed);
      [narrow, wide].forEach((server, place) => {
        const rate = run(adapter, noisy(server, random), 5000, place * 5000);
        found[place]?.push((rate * 1.08) / best(server, 4096, 4));
      });
    }
    for (const ratios of found) expect(medianOf(ratios)).toBeGreaterThan(0.95);
  });

  it('moves on at once where batches are fast, and not where they are slow', () => {
    const settingAfter = (batchMs: number): BatchSetting => {
      const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
      for (let batch = 1; batch <= 4; batch++) adapter.record(256, (batch * batchMs) / 3);
      return adapter.setting;
    };
    expect(settingAfter(5).rows).toBe(1024);
    expect(settingAfter(50).rows).toBe(256);
  });

  it('climbs to within a tenth of the best setting', () => {
    const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
    const rate = run(adapter, usual, 4000);
    expect(rate / best(usual, 4096, 4)).toBeGreaterThan(0.9);
  });

  it('goes down where large batches are slow', () => {
    const steep: Server = ({ rows, inFlight }) => 1 + (rows / 16) ** 2 * Math.max(1, inFlight / 2);
    const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
    const rate = run(adapter, steep, 4000);
    expect(rate / best(steep, 4096, 4)).toBeGreaterThan(0.8);
    expect(adapter.setting.rows).toBeLessThan(64);
  });

  it('notices that the load has changed', () => {
    const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
    run(adapter, usual, 20_000);
    const before = adapter.setting;
    const small: Server = ({ rows }) => 1 + Math.max(0, rows - 64) * 0.05;
    run(adapter, small, 20_000, 20_000);
    expect(before.rows).toBeGreaterThan(512);
    expect(adapter.setting.rows).toBeLessThanOrEqual(256);
  });

  it('stays inside its limits', () => {
    const adapter = new BatchTuner({ rowsMax: 100, inFlightMax: 1 });
    let nowMs = 0;
    for (let i = 0; i < 10_000; i++) {
      nowMs += 1;
      adapter.record(100, nowMs);
      const { rows, inFlight } = adapter.setting;
      expect(rows).toBeGreaterThanOrEqual(1);
      expect(rows).toBeLessThanOrEqual(100);
      expect(inFlight).toBe(1);
    }
  });

  it('learns nothing while nothing waits', () => {
    const adapter = new BatchTuner({ rowsMax: 4096, inFlightMax: 4 });
    const before = adapter.setting;
    for (let i = 0; i < 1000; i++) {
      adapter.record(1, i * 10);
      adapter.idle();
    }
    expect(adapter.setting).toEqual(before);
  });
});
