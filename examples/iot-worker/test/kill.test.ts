/**
 * The server is killed (SIGKILL) in the middle of the work, again and again. Rounds: KILL_ROUNDS,
 * default 5.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { connect } from '@braiddb/sdk';
import { describe, expect, inject, it } from 'vitest';

import { startServer } from '../server.mjs';
import { checkReadings } from '../src/demo.js';
import type { SensorEvent } from '../src/events.js';
import { allReadings, countRows, createTables, drain, enqueue } from '../src/queue.js';
import { isTemporary } from '../src/service.js';
import { weatherEvents } from '../src/weather.js';
import { runWorker } from '../src/worker.js';

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 5);
const REQUEST_EVENTS = 20;

const binary = inject('braidBinary');

/** Sends request after request until one fails; returns those that were not acknowledged. */
async function sendUntilKilled(
  url: string,
  requests: readonly SensorEvent[][],
  signal: AbortSignal,
): Promise<SensorEvent[][]> {
  let sent = 0;
  try {
    await using db = await connect(url, { graceMs: 500 });
    const worker = runWorker(db, { signal, batchRowsMax: 50 });
    try {
      for (const request of requests) {
        await enqueue(db, request, { signal });
        sent++;
      }
    } finally {
      await worker;
    }
  } catch (error) {
    if (!signal.aborted && !isTemporary(error)) throw error;
  }
  return requests.slice(sent);
}

describe.skipIf(binary === undefined)('killing the server', () => {
  it(`${ROUNDS} times loses and doubles no event`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'braid-kill-'));
    const events = (await weatherEvents()).slice(0, 400 * ROUNDS);
    let requests: SensorEvent[][] = [];
    for (let start = 0; start < events.length; start += REQUEST_EVENTS) {
      requests.push(events.slice(start, start + REQUEST_EVENTS));
    }
    for (let round = 0; round < ROUNDS; round++) {
      const server = await startServer(binary ?? '', { folder });
      {
        await using db = await connect(server.url);
        await createTables(db);
      }
      const stop = new AbortController();
      const sending = sendUntilKilled(server.url, requests, stop.signal);
      await sleep(50 + ((round * 37) % 150));
      await server.kill();
      stop.abort();
      requests = await sending;
    }

    const server = await startServer(binary ?? '', { folder });
    {
      await using db = await connect(server.url);
      for (const request of requests) await enqueue(db, request);
      while ((await drain(db, 500)).taken > 0);
      await checkReadings(allReadings(db), events);
      expect(await countRows(db)).toEqual({ queued: 0, stored: events.length });
    }
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
});
