/**
 * The service and its relay until SIGINT or SIGTERM.
 *
 * | variable | default | meaning |
 * |---|---|---|
 * | DATABASE_URL | a server of its own, with its data in `./ledger-data` | |
 * | HOST, PORT | `127.0.0.1`, 3000 | where the service listens |
 * | EVENTS_URL | none: each event is a line on standard output | events are sent there by POST |
 * | RELAYS | 2 | accounts whose events are delivered at the same time; 0 runs no relay |
 */

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import { startServer } from '@braiddb/server';

import type { Deliver } from './relay.js';
import { Relay } from './relay.js';
import { makeService } from './service.js';
import { createTables } from './tables.js';

const { env } = process;
const host = env.HOST ?? '127.0.0.1';
const port = whole('PORT', 3000, 65_535);
const concurrency = whole('RELAYS', 2, 100);
const eventsUrl = env.EVENTS_URL;

/** Milliseconds that running requests have after a signal. */
const DRAIN_MS = 5_000;

/** A variable that is a whole number from 0 to `max`. */
function whole(name: string, initial: number, max: number): number {
  const value = Number(env[name] ?? initial);
  if (Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  throw new Error(`${name} must be a whole number from 0 to ${max}`);
}

const print: Deliver = (event) => {
  process.stdout.write(`${JSON.stringify(event)}\n`);
  return Promise.resolve();
};

const post =
  (url: string): Deliver =>
  async (event, signal) => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(event);
    const answer = await fetch(url, { method: 'POST', headers, body, signal });
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  };

// Whatever fails below, these are closed in the reverse order of their declarations.
const given = env.DATABASE_URL;
await using server = given === undefined ? await startServer({ data: 'ledger-data' }) : undefined;
const url = given ?? server?.url ?? '';
await using db = await connect(url, { connectionsMax: 10 + concurrency });
await createTables(db);
await using relay = concurrency === 0 ? undefined : startRelay(db);
const service = makeService(db);
process.stdout.write(`the ledger is open at ${await service.listen({ port, host })}\n`);

await new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      resolve();
    });
  }
});
await service.close();
await relay?.close();
await db.close({ timeoutMs: DRAIN_MS });

function startRelay(db: Database): Relay {
  return new Relay(db, eventsUrl === undefined ? print : post(eventsUrl), {
    concurrency,
    onError: (error) => void process.stderr.write(`relay: ${String(error)}\n`),
  });
}
