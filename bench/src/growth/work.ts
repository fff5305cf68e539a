/** What a kind of work is, and the steps that many kinds share. */

import type pg from 'pg';

/** One kind of work. What is timed is `run` alone. */
export interface Work {
  readonly name: string;
  /** `linear`: ten times the work. `constant`: one more operation beside ten times as much. */
  readonly growth: 'linear' | 'constant';
  /** The small size; the large one is ten times that. */
  readonly size: number;
  /** Statements before the time is taken. */
  readonly prepare?: (size: number) => readonly string[];
  readonly run: (client: pg.Client, size: number) => Promise<void>;
  /** Statements afterwards. */
  readonly finish: (size: number) => readonly string[];
}

/** The numbers from 1 to the size. */
export const numbers = (size: number): number[] => Array.from({ length: size }, (_, i) => i + 1);

/** One text for each number, with a separator between them. */
export const joined = (size: number, text: (i: number) => string, separator = ', '): string =>
  numbers(size).map(text).join(separator);

/** Sends one statement after the other. */
export async function each(
  client: pg.Client,
  size: number,
  text: (i: number) => string,
): Promise<void> {
  for (let i = 1; i <= size; i++) await client.query(text(i));
}

/** Runs the work between BEGIN and COMMIT. */
export async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  await work();
  await client.query('COMMIT');
}

/** Work of one statement for each number. */
export function statementsOf(
  name: string,
  size: number,
  text: (i: number) => string,
  more: Partial<Pick<Work, 'prepare' | 'finish'>> = {},
): Work {
  const run: Work['run'] = (client, count) => each(client, count, text);
  return { name, growth: 'linear', size, run, finish: () => [], ...more };
}

/** The same in one transaction. */
export function inOneTransaction(work: Work): Work {
  const run: Work['run'] = (client, size) => inTransaction(client, () => work.run(client, size));
  return { ...work, name: `${work.name}, in a transaction`, run };
}

/** Work of one statement whose text depends on the size. */
export function textOf(
  name: string,
  size: number,
  text: (size: number) => string,
  more: Partial<Pick<Work, 'prepare' | 'finish'>> = {},
): Work {
  const run: Work['run'] = async (client, count) => {
    await client.query(text(count));
  };
  return { name, growth: 'linear', size, run, finish: () => [], ...more };
}
