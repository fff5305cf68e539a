/**
 * Line plots and bars as SVG, and the same as PNG. Small on purpose: axes, lines, a legend, the command
 * and the machine underneath, so that a picture can be made again.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Resvg } from '@resvg/resvg-js';

/** One line of a plot. */
export interface Series {
  readonly name: string;
  /** x and y. */
  readonly points: readonly (readonly [number, number])[];
  readonly dashed?: boolean | undefined;
}

/** A plot. */
export interface Plot {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
  /** Equal factors are equal distances. Default false. */
  readonly logX?: boolean | undefined;
  readonly logY?: boolean | undefined;
  /** Shown underneath: the command and the machine. */
  readonly notes: readonly string[];
}

const WIDTH = 880;
const HEIGHT = 520;
const LEFT = 90;
const RIGHT = 250;
const TOP = 50;
const BOTTOM = 110;
const COLORS = [
  '#1f6feb',
  '#d1242f',
  '#1a7f37',
  '#9a6700',
  '#8250df',
  '#bf3989',
  '#57606a',
  '#0a7ea4',
];

/** The plot as SVG text. */
export function svgOf(plot: Plot): string {
  const xs = scaleOf(plot, 0, [LEFT, WIDTH - RIGHT]);
  const ys = scaleOf(plot, 1, [HEIGHT - BOTTOM, TOP]);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" ` +
      `viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="DejaVu Sans, Arial, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>`,
    text(LEFT, 28, plot.title, 'font-size="16" font-weight="bold"'),
  ];
  for (const tick of ys.ticks) {
    const y = ys.at(tick);
    parts.push(line(LEFT, y, WIDTH - RIGHT, y, '#d8dee4'));
    parts.push(text(LEFT - 8, y + 4, short(tick), 'text-anchor="end"'));
  }
  for (const tick of xs.ticks) {
    const x = xs.at(tick);
    parts.push(line(x, TOP, x, HEIGHT - BOTTOM, '#eaeef2'));
    parts.push(text(x, HEIGHT - BOTTOM + 18, short(tick), 'text-anchor="middle"'));
  }
  const middle = (LEFT + WIDTH - RIGHT) / 2;
  parts.push(text(middle, HEIGHT - BOTTOM + 40, plot.x, 'text-anchor="middle"'));
  const up = (TOP + HEIGHT - BOTTOM) / 2;
  parts.push(text(22, up, plot.y, `text-anchor="middle" transform="rotate(-90 22 ${up})"`));
  plot.series.forEach((series, index) => {
    parts.push(...drawn(series, COLORS[index % COLORS.length] ?? 'black', index, xs, ys));
  });
  plot.notes.forEach((note, index) => {
    parts.push(text(LEFT, HEIGHT - 42 + index * 15, note, 'fill="#57606a" font-size="10"'));
  });
  return `${parts.join('\n')}\n</svg>\n`;
}

/** Writes `<name>.svg` and `<name>.png`; returns the paths. */
export async function savePlot(plot: Plot, folder: string, name: string): Promise<string[]> {
  return saveSvg(svgOf(plot), folder, name);
}

/** Writes a picture as SVG and as PNG; returns the paths. */
export async function saveSvg(svg: string, folder: string, name: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const paths = [join(folder, `${name}.svg`), join(folder, `${name}.png`)] as const;
  await writeFile(paths[0], svg);
  const png = new Resvg(svg, { fitTo: { mode: 'zoom', value: 1.5 } }).render().asPng();
  await writeFile(paths[1], png);
  return [...paths];
}

interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

function scaleOf(plot: Plot, axis: 0 | 1, [from, to]: readonly [number, number]): Scale {
  const values = plot.series.flatMap(({ points }) => points.map((point) => point[axis]));
  const highest = Math.max(...values, Number.MIN_VALUE);
  if ((axis === 0 ? plot.logX : plot.logY) === true) {
    const low = Math.log10(Math.min(...values.filter((value) => value > 0)));
    const high = Math.log10(highest);
    const span = Math.max(high - low, 1e-9);
    const ticks: number[] = [];
    for (let power = Math.floor(low); power <= high; power++) {
      for (const step of [1, 2, 5]) {
        const tick = step * 10 ** power;
        if (tick >= 10 ** low * 0.999 && tick <= highest * 1.001) ticks.push(tick);
      }
    }
    return { at: (value) => from + ((Math.log10(value) - low) / span) * (to - from), ticks };
  }
  const step = niceStep(highest);
  const top = Math.ceil(highest / step) * step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return { at: (value) => from + (value / top) * (to - from), ticks };
}

function niceStep(highest: number): number {
  const raw = highest / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((one) => one * power >= raw) ?? 10;
  return factor * power;
}

function drawn(series: Series, color: string, index: number, xs: Scale, ys: Scale): string[] {
  const dash = series.dashed === true ? ' stroke-dasharray="6 4"' : '';
  const points = series.points.map(([x, y]) => `${xs.at(x).toFixed(1)},${ys.at(y).toFixed(1)}`);
  const dots = series.points.map(
    ([x, y]) =>
      `<circle cx="${xs.at(x).toFixed(1)}" cy="${ys.at(y).toFixed(1)}" r="3" fill="${color}"/>`,
  );
  const y = TOP + 10 + index * 20;
  const left = WIDTH - RIGHT + 16;
  return [
    `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"${dash}/>`,
    ...dots,
    `<line x1="${left}" y1="${y}" x2="${left + 24}" y2="${y}" stroke="${color}" stroke-width="2"${dash}/>`,
    text(left + 30, y + 4, series.name),
  ];
}

function line(x1: number, y1: number, x2: number, y2: number, color: string): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${color}"/>`;
}

function text(x: number, y: number, content: string, attributes = ''): string {
  const safe = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<text x="${x}" y="${y}" ${attributes}>${safe}</text>`;
}

function short(value: number): string {
  if (value >= 1e6) return `${trim(value / 1e6)}M`;
  if (value >= 1e4) return `${trim(value / 1e3)}k`;
  return trim(value);
}

function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}
