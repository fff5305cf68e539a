import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { bars, spreadOf } from '../src/pictures/charts.js';
import { checkAxes, svgOf } from '../src/pictures/draw.js';
import type { Results } from '../src/pictures/index.js';
import { picturesOf } from '../src/pictures/index.js';

const folder = fileURLToPath(new URL('../results', import.meta.url));
const files = await readdir(folder);

function picture(...values: number[]) {
  return {
    name: 'test',
    spec: { mark: 'point' as const, data: { values: [] } },
    axes: { x: values },
  };
}

describe('an axis', () => {
  it('is refused without values, or with all of them at one place', () => {
    expect(() => {
      checkAxes(picture());
    }).toThrow('nothing on the axis "x"');
    expect(() => {
      checkAxes(picture(16, 16, 16));
    }).toThrow('at one place on the axis "x"');
    expect(() => {
      checkAxes(picture(1, Number.NaN));
    }).toThrow('is not a number');
    checkAxes(picture(1, 16));
  });

  it('is refused where a whole picture shows nothing', async () => {
    const bar = { category: 'a', group: 'g', panel: 'ms', ...spreadOf([0, 0]) };
    const empty = bars('empty', { title: 'empty', notes: [] }, [bar]);
    await expect(svgOf(empty)).rejects.toThrow('at one place');
  });
});

describe('the pictures of', () => {
  const drawn = new Set<string>();

  it.each(files.filter((file) => file.endsWith('.json')))(
    '%s are those of its results',
    async (file) => {
      const results = JSON.parse(await readFile(join(folder, file), 'utf8')) as Results;
      for (const one of picturesOf(file.slice(0, -'.json'.length), results)) {
        const committed = await readFile(join(folder, `${one.name}.svg`), 'utf8');
        expect(await svgOf(one), `${one.name}.svg: run node bench/redraw.mjs`).toBe(committed);
        drawn.add(`${one.name}.svg`);
      }
    },
  );

  it('the folder are all drawn from results', () => {
    expect(files.filter((file) => file.endsWith('.svg') && !drawn.has(file))).toEqual([]);
  });
});

describe('a suite that was never committed', () => {
  const base: Results = { machine: 'a machine', command: 'a command' };
  const one = { perSecond: 100, p50Ms: 1, p99Ms: 3, operations: 10 };
  const sides = ['BraidDB', 'PostgreSQL'];
  const each = <T>(make: (side: string) => T): T[] => sides.map(make);
  const contents: Record<string, object> = {
    network: {
      results: each((side) => {
        const rounds = [{ ...one, roundTrips: 2 }];
        return { side, roundTripMs: 1, client: 'SDK', rounds };
      }),
    },
    scan: {
      rows: 1000,
      results: each((server) => ({ server, coldMs: [30, 40], warm: [one] })),
    },
    fairness: {
      rounds: each((side) => ({ side, neighbours: 4, selects: 9, ...one, worstMs: 9 })),
    },
    jobs: {
      cells: each((side) => {
        const run = { ...one, addedPerSecond: 900, jobsPerSecond: 800 };
        return { system: 'a queue', workers: 4, side, run, reason: undefined };
      }),
    },
    queue: {
      cells: each((side) => ({ kind: 'delete', workers: 2, side, slices: [9, 7], beside: 3 })),
    },
  };

  it.each(Object.keys(contents))('can be drawn: %s', async (name) => {
    const pictures = picturesOf(name, { ...base, ...contents[name] });
    expect(pictures.length).toBeGreaterThan(0);
    for (const picture of pictures) expect(await svgOf(picture)).toContain('a machine');
  });
});
