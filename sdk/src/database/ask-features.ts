/** What a BraidDB server is asked when the first connection is made. Loaded by `connect`. */

import { runOn } from '../connection/autocommit.js';
import type { Connection } from '../connection/connection.js';
import type { Settings } from '../options/connect.js';
import type { AskedFeatures } from '../server.js';
import { ServerClock, uuidOfTime } from '../transaction/commit-token.js';

/** Asks the server once for its settings, so that no transaction meets one that it lacks. */
export async function askFeatures(
  connection: Connection,
  settings: Settings,
): Promise<AskedFeatures> {
  const text = `SELECT current_setting('commit_token', true) IS NOT NULL AS tokens,
    current_setting('traceparent', true) IS NOT NULL AS traces,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms`;
  const { rows } = await runOn(connection, { text, values: [] });
  const { tokens, traces, now_ms: nowMs } = rows[0] ?? {};
  const clock = new ServerClock(Number(nowMs), settings.scheduler.now);
  const commitToken = (): string => uuidOfTime(clock.now());
  return {
    commitToken: settings.commitTokens && tokens === true ? commitToken : undefined,
    traceparent: settings.traceparent !== undefined && traces === true,
  };
}
