/**
 * The trace of the caller on its way to the server: W3C's `traceparent`, as a setting of the
 * transaction. It ends with the transaction, so that nothing of it stays on the connection.
 */

import type { DatabaseContext } from './context.js';

/** Version, trace, span and flags. What has this form needs no quotes of its own. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The statement that hands on the trace that is going on; none where there is nothing to send. */
export function traceSetting({ features, settings }: DatabaseContext): string[] {
  if (!features.traceparent) return [];
  const value: unknown = settings.traceparent?.();
  const isRight = typeof value === 'string' && TRACEPARENT.test(value);
  return isRight ? [`SET LOCAL traceparent = '${value}'`] : [];
}
