/**
 * The kinds of charts: bars with ranges for categories, ratios, and lines over numbers.
 */

import type { TopLevelSpec } from 'vega-lite';

import type { Picture } from './draw.js';

/** Title, command and machine of a chart. */
export interface Caption {
  readonly title: string;
  readonly notes: readonly string[];
}

/** Pixels that a chart is wide, without its labels. */
const WIDTH = 560;

/** Pixels from one bar to the next. */
const STEP = 26;

/** The middle, smallest and largest of some rounds. */
export interface Spread {
  readonly middle: number;
  readonly low: number;
  readonly high: number;
}

/** The spread of some numbers. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [low = Number.NaN] = sorted;
  const middle = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return { middle, low, high: sorted.at(-1) ?? Number.NaN };
}

function titleOf({ title, notes }: Caption): { text: string; subtitle: string[] } {
  return { text: title, subtitle: [...notes] };
}

/** A bar of a category. */
export interface Bar extends Spread {
  readonly category: string;
  /** What the colour means. */
  readonly group: string;
  /** The panel that it stands in: one axis each. */
  readonly panel: string;
}

/** Panels of bars, side by side, from the same categories: the median, and the range of the rounds. */
export function bars(name: string, caption: Caption, values: readonly Bar[]): Picture {
  const panels = [...new Set(values.map(({ panel }) => panel))];
  const categories = [...new Set(values.map(({ category }) => category))];
  const groups = [...new Set(values.map(({ group }) => group))];
  const width = Math.round(WIDTH / panels.length);
  const spec: TopLevelSpec = {
    title: titleOf(caption),
    hconcat: panels.map((panel, index) => {
      const y = {
        field: 'category',
        type: 'nominal' as const,
        sort: categories,
        title: null,
        axis: index === 0 ? {} : null,
      };
      const axis = { tickCount: 5, format: '~s' };
      return {
        width,
        height: { step: STEP },
        data: { values: values.filter((one) => one.panel === panel) },
        layer: [
          {
            mark: { type: 'bar' as const, height: { band: 0.7 } },
            encoding: {
              y,
              x: { field: 'middle', type: 'quantitative' as const, title: panel, axis },
              color: { field: 'group', type: 'nominal' as const, title: null, sort: groups },
            },
          },
          {
            mark: { type: 'rule' as const, strokeWidth: 2, color: '#24292f' },
            encoding: {
              y,
              x: { field: 'low', type: 'quantitative' as const },
              x2: { field: 'high' },
            },
          },
        ],
      };
    }),
  };
  const axes = Object.fromEntries(
    panels.map((panel) => [
      panel,
      values
        .filter((one) => one.panel === panel)
        .map(endsOf)
        .flat(),
    ]),
  );
  return { name, spec, axes };
}

/** A bar reaches from zero to its median. */
function endsOf({ middle, low, high }: Spread): number[] {
  return [0, middle, low, high];
}

/** Ratios of two servers, each with its range; the line at 1 means equally fast. */
export function ratios(
  name: string,
  caption: Caption,
  axisTitle: string,
  values: readonly (Spread & { readonly category: string })[],
): Picture {
  const y = {
    field: 'category',
    type: 'nominal' as const,
    sort: values.map(({ category }) => category),
    title: null,
    axis: { grid: true },
  };
  const scale = { type: 'log' as const, nice: false };
  const axis = { values: [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50], format: '~r' };
  const shown = values.map((one) => ({ ...one, outcome: one.middle < 1 ? 'slower' : 'faster' }));
  const spec: TopLevelSpec = {
    title: titleOf(caption),
    width: WIDTH,
    height: { step: STEP },
    data: { values: shown },
    layer: [
      {
        mark: { type: 'rule', strokeDash: [5, 4], color: '#57606a' },
        encoding: { x: { datum: 1, type: 'quantitative', scale } },
      },
      {
        mark: { type: 'rule', strokeWidth: 3, opacity: 0.5 },
        encoding: {
          y,
          x: { field: 'low', type: 'quantitative', scale, axis, title: axisTitle },
          x2: { field: 'high' },
          color: {
            field: 'outcome',
            type: 'nominal',
            title: null,
            sort: ['faster', 'slower'],
            legend: null,
          },
        },
      },
      {
        mark: { type: 'point', filled: true, size: 90, opacity: 1 },
        encoding: {
          y,
          x: { field: 'middle', type: 'quantitative', scale, axis },
          color: { field: 'outcome', type: 'nominal', sort: ['faster', 'slower'] },
        },
      },
    ],
  };
  return { name, spec, axes: { [axisTitle]: [1, ...values.map(({ middle }) => middle)] } };
}

/** One line of a chart. */
export interface Line {
  readonly series: string;
  readonly points: readonly (Spread & { readonly x: number })[];
  readonly isDashed?: boolean;
}

/** How the axes of a line chart are drawn. */
export interface LineAxes {
  readonly x: string;
  readonly y: string;
  /** Equal factors are equal distances. */
  readonly isLogX?: boolean;
  readonly isLogY?: boolean;
  /** The value holds until the next point. */
  readonly isStep?: boolean;
}

/** Lines over numbers, each with a band from the smallest to the largest round. */
export function lines(
  name: string,
  caption: Caption,
  axes: LineAxes,
  series: readonly Line[],
): Picture {
  const values = series.flatMap(({ series: line, points, isDashed = false }) =>
    points.map((point) => ({ ...point, line, isDashed })),
  );
  const xScale = { type: axes.isLogX === true ? ('log' as const) : ('linear' as const) };
  const yScale = { type: axes.isLogY === true ? ('log' as const) : ('linear' as const) };
  const ticks = [...new Set(values.map(({ x }) => x))];
  const x = {
    field: 'x',
    type: 'quantitative' as const,
    scale: xScale,
    axis: axes.isLogX === true ? { values: ticks, format: '~s' } : { tickCount: 6 },
  };
  const y = { type: 'quantitative' as const, scale: yScale, axis: { tickCount: 6, format: '~s' } };
  const color = {
    field: 'line',
    type: 'nominal' as const,
    title: null,
    sort: series.map((one) => one.series),
    legend: {
      columns: 2,
      symbolOpacity: 1,
      symbolType: 'stroke' as const,
      symbolStrokeWidth: 3,
    },
  };
  const interpolate = axes.isStep === true ? ('step-after' as const) : ('linear' as const);
  const spec: TopLevelSpec = {
    title: titleOf(caption),
    width: WIDTH + 120,
    height: 320,
    data: { values },
    layer: [
      {
        mark: { type: 'area', opacity: 0.12, interpolate },
        encoding: { x, y: { ...y, field: 'low' }, y2: { field: 'high' }, color },
      },
      {
        mark: { type: 'line', point: axes.isStep !== true, strokeWidth: 2.5, interpolate },
        encoding: {
          x: { ...x, title: axes.x },
          y: { ...y, field: 'middle', title: axes.y },
          color,
          strokeDash: {
            field: 'isDashed',
            type: 'nominal',
            legend: null,
            scale: {
              domain: [false, true],
              range: [
                [1, 0],
                [6, 4],
              ],
            },
          },
        },
      },
    ],
  };
  const shown = { [axes.x]: values.map((one) => one.x), [axes.y]: values.map((one) => one.middle) };
  return { name, spec, axes: shown };
}
