/** What all parts of one open queue share. */

import type { Database } from '@braiddb/sdk';

import type { Counters } from './counters.js';
import type { QueueEvent } from './diagnostics.js';
import { publishEvent } from './diagnostics.js';
import { UnknownQueueError } from './errors.js';
import type { OpenSettings, Settings } from './options.js';
import { checkText } from './options.js';
import type { Tables } from './schema.js';

/** What all parts of one open queue share. */
export interface QueueContext {
  readonly db: Database;
  readonly tables: Tables;
  readonly settings: OpenSettings;
  readonly counters: Counters;
  /** The periods that this process has made, or is making. */
  readonly periods: Map<string, Promise<void>>;
}

/** The settings of a queue; fails with an {@link UnknownQueueError} if it has not been declared. */
export function settingsOf({ settings }: QueueContext, queue: string): Settings {
  checkText('name', queue);
  const found = settings.queues.get(queue);
  if (found === undefined) throw new UnknownQueueError(queue, [...settings.queues.keys()]);
  return found;
}

/** Reports an error that the work survives. What the callback throws is no concern of the work. */
export function report({ settings }: QueueContext, error: unknown): void {
  try {
    settings.onError?.(error);
  } catch {
    // A callback that fails cannot stop a worker, and there is nobody left to tell.
  }
}

/** Counts and publishes what has happened to a job. */
export function note({ counters }: QueueContext, event: QueueEvent): void {
  counters.count(event.queue, event.kind);
  publishEvent(event);
}
