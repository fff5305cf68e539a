/**
 * Draws a Vega-Lite chart as SVG and PNG, and refuses one whose axis shows nothing.
 *
 * Vega-Lite, because it makes a whole SVG, legend included, without a browser or a DOM.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Resvg } from '@resvg/resvg-js';
import * as vega from 'vega';
import type { TopLevelSpec } from 'vega-lite';
import { compile } from 'vega-lite';

/** A chart with its file name, and the numbers that its axes show. */
export interface Picture {
  readonly name: string;
  readonly spec: TopLevelSpec;
  /** For each axis of numbers: what it shows, and its values. */
  readonly axes: Readonly<Record<string, readonly number[]>>;
}

/** The font family of every text. */
export const FONT = 'DejaVu Sans, Arial, sans-serif';

/** Colours of series: distinct also to most colour-blind readers. */
export const COLORS = ['#1f6feb', '#e36209', '#1a7f37', '#8250df', '#bf3989', '#57606a'];

/** Pixels of PNG for each pixel of SVG. */
const PNG_ZOOM = 1.5;

const CONFIG = {
  background: 'white',
  padding: 16,
  font: FONT,
  axis: {
    labelLimit: 0,
    labelFontSize: 14,
    titleFontSize: 14,
    titleFontWeight: 'normal',
    gridColor: '#e6eaef',
  },
  legend: { labelFontSize: 14, titleFontSize: 14, orient: 'top', labelLimit: 0 },
  header: { labelFontSize: 14, titleFontSize: 14 },
  title: {
    fontSize: 18,
    subtitleFontSize: 12,
    subtitleColor: '#57606a',
    anchor: 'start',
    offset: 12,
  },
  view: { stroke: null },
  range: { category: COLORS },
} as const;

/** The width of a character in DejaVu Sans, on average, by the font size. */
const CHARACTER_WIDTH = 0.6;

// Vega measures text with a canvas, which Node does not have; its own estimate is a third too wide.
const { textMetrics } = vega as unknown as {
  textMetrics: {
    width: (item: { readonly fontSize?: number }, text: string | number | null) => number;
  };
};
textMetrics.width = ({ fontSize = 11 }, text) =>
  CHARACTER_WIDTH * fontSize * String(text ?? '').length;

/** What is wrong with an axis: no values, a value that is no number, or one place for all values. */
export function axisFault({ name, axes }: Picture): string | undefined {
  for (const [axis, values] of Object.entries(axes)) {
    if (values.length === 0) return `${name}: nothing on the axis "${axis}"`;
    if (!values.every(Number.isFinite)) {
      return `${name}: a value on the axis "${axis}" is not a number`;
    }
    if (new Set(values).size === 1 && values.length > 1) {
      return `${name}: all values are at one place on the axis "${axis}"`;
    }
  }
  return undefined;
}

/** Throws if an axis would show nothing. */
export function checkAxes(picture: Picture): void {
  const fault = axisFault(picture);
  if (fault !== undefined) throw new Error(fault);
}

/** The picture as SVG text. */
export async function svgOf(picture: Picture): Promise<string> {
  checkAxes(picture);
  const { spec } = compile(picture.spec, { config: CONFIG });
  const view = new vega.View(vega.parse(spec), { renderer: 'none' });
  try {
    return `${await view.toSVG()}\n`;
  } finally {
    view.finalize();
  }
}

/** Writes `<name>.svg` and `<name>.png` of each picture; returns the paths. */
export async function savePictures(
  folder: string,
  pictures: readonly Picture[],
): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const paths: string[] = [];
  for (const picture of pictures) {
    const svg = await svgOf(picture);
    const path = join(folder, picture.name);
    await writeFile(`${path}.svg`, svg);
    const png = new Resvg(svg, { fitTo: { mode: 'zoom', value: PNG_ZOOM } }).render().asPng();
    await writeFile(`${path}.png`, png);
    paths.push(`${path}.svg`, `${path}.png`);
  }
  return paths;
}
