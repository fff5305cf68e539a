/**
 * Calls every function with values that it cannot take: each call must succeed, or fail with an error
 * of its own kind that says what was wrong. None may hang.
 */

import { setTimeout as sleep } from 'node:timers/promises';

import { BatchRowError, BraidError, DatabaseError } from '../src/index.js';

/** A call with one value in the place of one argument. */
export type WrongCall = (value: never) => unknown;

/** Milliseconds after which a call counts as hanging. */
const HANGING_MS = 20_000;

function circular(): object {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  return loop;
}

/** Values that hardly any argument takes, each with its name. */
const VALUES: Readonly<Record<string, unknown>> = {
  undefined: undefined,
  null: null,
  true: true,
  '5': 5,
  '-1': -1,
  NaN: Number.NaN,
  '10n': 10n,
  'an empty text': '',
  'a text': 'nonsense',
  'a long text': 'a'.repeat(10_000),
  'a NUL': 'a\0b',
  'half a pair': '\ud800',
  'no items': [],
  'null items': [null],
  'no properties': {},
  'an unknown property': { nonsense: 1 },
  'a loop': circular(),
  'a bigint inside': { a: 1n },
  'a symbol': Symbol('s'),
  'a function': () => undefined,
  'an invalid date': new Date(Number.NaN),
};

/** Failures that come from V8 or Node instead of a check. */
const RAW =
  /^(Cannot |Converting circular|Do not know how|The "\w+" argument|Invalid array)|(is not (a function|iterable|defined|a constructor|an object)|\(reading ')/;

/** Reads what a call returns: a stream's first value, or the value of a promise. */
async function finish(result: unknown): Promise<void> {
  const found = result as Partial<AsyncIterableIterator<unknown> & AsyncDisposable> | undefined;
  const isStream = typeof found?.next === 'function' && Symbol.asyncIterator in (found as object);
  if (isStream) {
    await found.next?.();
    await found.return?.();
    return;
  }
  const value = await result;
  if (typeof value !== 'object' || value === null) return;
  const { [Symbol.asyncDispose]: dispose } = value as Partial<AsyncDisposable>;
  if (typeof dispose === 'function') await dispose.call(value);
}

/** Why an error is not good enough; undefined if it is. */
function faultOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return `threw ${String(error)}`;
  const text = `${error.name}: ${error.message}`;
  // The reason of a signal that the test has set.
  if (error.name === 'TimeoutError' || error.name === 'AbortError') return undefined;
  if (error instanceof DatabaseError || error instanceof BatchRowError) return undefined;
  const isOwn = error instanceof BraidError || /^Server|^Migration/.test(error.name);
  if (!isOwn || RAW.test(error.message)) return text;
  return error.message.length < 15 ? `says too little: ${text}` : undefined;
}

/** Some of the values, for calls that take long. */
export const SOME_VALUES = ['undefined', 'null', '5', 'a text', 'null items', 'a loop'];

/** The calls that fail with a raw error, or hang; empty if all is well. */
export async function findRawErrors(
  calls: Readonly<Record<string, WrongCall>>,
  titles: readonly string[] = Object.keys(VALUES),
): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, call] of Object.entries(calls)) {
    for (const title of titles) {
      const work = (async () => finish(call(VALUES[title] as never)))().then(
        () => undefined,
        (error: unknown) => faultOf(error),
      );
      const over = new AbortController();
      const late = sleep(HANGING_MS, 'hangs', { signal: over.signal }).catch(() => 'over');
      const fault = await Promise.race([work, late]);
      over.abort();
      if (fault !== undefined) faults.push(`${name} with ${title}: ${fault}`);
    }
  }
  return faults;
}
