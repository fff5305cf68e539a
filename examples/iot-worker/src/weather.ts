/**
 * Real measurements: the hourly weather of Seattle, from the npm package `vega-datasets` (BSD-3).
 * Each line has three measurements, so each becomes three events.
 */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { SensorEvent } from './events.js';

const FILE = 'seattle-weather-hourly-normals.csv';
const METRICS = ['pressure', 'temperature', 'wind'];

/** All events of the file, in the order of time. */
export async function weatherEvents(): Promise<SensorEvent[]> {
  const [header = '', ...lines] = (await readFile(dataFile(), 'utf8')).trim().split(/\r?\n/);
  const columns = header.split(',');
  return lines.flatMap((line) => {
    const cells = line.split(',');
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? '';
    const time = cell('date');
    return METRICS.map((metric) => ({
      id: `seattle-${metric}-${time}`,
      sensor: `seattle-${metric}`,
      takenAt: new Date(`${time}Z`),
      value: Number(cell(metric)),
    }));
  });
}

function dataFile(): string {
  const require = createRequire(import.meta.url);
  // The package exports only code; its data is beside the folder of the code.
  const entry = require.resolve('vega-datasets');
  return join(dirname(dirname(entry)), 'data', FILE);
}
