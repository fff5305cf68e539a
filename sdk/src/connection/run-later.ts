/**
 * Writes outside transactions: run later in the turn of their call, so that their result can still
 * be asked for.
 */

import { attachCallSite } from '../call-sites.js';
import { BraidError } from '../errors.js';
import type { DriverResult } from './driver.js';
import type { StatementRequest } from './request.js';

/** Runs `work` for a request, and settles the request. */
export function runLater(
  request: StatementRequest,
  work: () => Promise<readonly DriverResult[]>,
): void {
  const running = Promise.resolve().then(() => {
    request.isSent = true;
    return work();
  });
  running.then(
    (results) => {
      request.succeed(results);
    },
    (error: unknown) => {
      request.fail(error);
      // An unhandled rejection, as of any promise that is not awaited; it names the statement.
      if (!request.isObserved) void Promise.reject(unawaitedFailure(request, error));
    },
  );
}

/** The error of a write that failed and was not awaited, with the text of its statement. */
function unawaitedFailure({ text, callSite }: StatementRequest, error: unknown): BraidError {
  const reason = error instanceof Error ? error.message : String(error);
  const message = `a write that nobody awaits has failed: ${reason}; statement: ${text}`;
  const failure = new BraidError(message, { cause: error });
  attachCallSite(failure, { text, parameters: [], callSite });
  return failure;
}
