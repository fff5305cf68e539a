/** Pauses after failures. */

/**
 * Milliseconds until the next attempt: doubled each time, up to a limit. A random half of it is
 * left out, so that jobs that failed together do not come back together.
 */
export function pauseMs(
  { backoffBaseMs, backoffMaxMs }: { backoffBaseMs: number; backoffMaxMs: number },
  attempt: number,
  random: () => number = Math.random,
): number {
  const full = Math.min(backoffMaxMs, backoffBaseMs * 2 ** Math.min(attempt - 1, 60));
  return full * (0.5 + random() / 2);
}
