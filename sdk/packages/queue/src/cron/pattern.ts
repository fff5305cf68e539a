/** Cron patterns: checked, and their times. */

import { Cron } from 'croner';

import { CronError } from '../errors.js';

/** A pattern that has been read. */
export interface CronPattern {
  /** The first time after a moment; undefined if there is none. */
  next(after: Date): Date | undefined;
}

/**
 * Reads a pattern of five fields (minute, hour, day, month, weekday) or six (second first), or a
 * nickname such as `@daily`. Fails with a {@link CronError}.
 */
export function readPattern(pattern: string, timeZone: string): CronPattern {
  const text: unknown = pattern;
  if (typeof text !== 'string' || !/^\s*(@[a-z]+|\S+(\s+\S+){4,5})\s*$/i.test(text)) {
    throw new CronError(String(text), 'must have five or six fields, or be a name like @daily');
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone });
  } catch (cause) {
    throw new CronError(pattern, `the time zone "${timeZone}" is not known`, cause);
  }
  let cron: Cron;
  try {
    cron = new Cron(pattern, { timezone: timeZone, paused: true });
  } catch (cause) {
    throw new CronError(pattern, cause instanceof Error ? cause.message : String(cause), cause);
  }
  return { next: (after) => cron.nextRun(after) ?? undefined };
}
