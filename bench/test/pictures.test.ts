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
