/**
 * Eight clients make transfers while connections are cut and the server is killed (SIGKILL). The
 * clients send a request again until they have an answer. Each key must be applied exactly once,
 * and each event must be delivered at least once and in order.
 *
 * LEDGER_TRANSFERS: transfers of each client. Default 12.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { CommitLostEvent } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import { createDatabase } from '@braiddb/server';
import type { FastifyInstance } from 'fastify';
import { describe, expect, inject, it } from 'vitest';

import type { Proxy } from '../../../sdk/test/proxy.js';
import { startProxy } from '../../../sdk/test/proxy.js';
import type {} from '../../../sdk/test/setup.js';
import { startServer } from '../../iot-worker/server.mjs';
import { audit } from '../src/audit.js';
import type { Deliver } from '../src/relay.js';
import { Relay } from '../src/relay.js';
import { makeService } from '../src/service.js';
import type { LedgerEvent, EntryRow } from '../src/tables.js';
import { createTables } from '../src/tables.js';
import { eventOf, openAccount } from '../src/transfers.js';

const CLIENTS = 8;
const TRANSFERS = Number(process.env.LEDGER_TRANSFERS ?? 12);
const ACCOUNTS = ['bank', 'ada', 'grace', 'barbara', 'mary'];
/** One of this number of COMMITs is cut: after the server has it, or before. */
const CUT_AFTER_EVERY = 7;
const CUT_BEFORE_EVERY = 11;
/** One of this number of deliveries fails: the event is lost, or only the answer to it. */
const LOST_DELIVERY_EVERY = 9;
/** One of this number of requests is sent twice at the same time. */
const DOUBLED_EVERY = 5;
/** Milliseconds for which a client tries. */
const PATIENCE_MS = 60_000;

/** What a client asks for. */
interface Wanted {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly amount: number;
}

/** The transfers of a client: all pairs of accounts, in an order of its own. */
function wantedBy(client: number): Wanted[] {
  return Array.from({ length: TRANSFERS }, (_, at) => {
    const from = (client + at) % ACCOUNTS.length;
    const to = (from + 1 + (at % (ACCOUNTS.length - 1))) % ACCOUNTS.length;
    return {
      ...{ key: `client-${client}-${at}`, amount: 1 + ((client * 31 + at * 17) % 97) },
      ...{ from: ACCOUNTS[from] ?? '', to: ACCOUNTS[to] ?? '' },
    };
  });
}

/** Sends a request until it has an answer; the statuses of all answers. */
async function send(service: FastifyInstance, wanted: Wanted): Promise<number[]> {
  const { key, from, to, amount } = wanted;
  const statuses: number[] = [];
  const endMs = performance.now() + PATIENCE_MS;
  while (performance.now() < endMs) {
    const { statusCode, body } = await service.inject({
      ...{ method: 'POST', url: '/transfers', headers: { 'idempotency-key': key } },
      body: { from, to, amount: String(amount) },
    });
    statuses.push(statusCode);
    if (statusCode === 200 || statusCode === 201) return statuses;
    if (statusCode !== 503) throw new Error(`${statusCode} ${body}`);
    await sleep(20);
  }
  throw new Error(`no answer for ${key}`);
}

/** One client: a request after the other, some of them doubled by impatience. */
async function runClient(
  service: FastifyInstance,
  client: number,
  onDone: () => void,
): Promise<void> {
  for (const [at, wanted] of wantedBy(client).entries()) {
    const times = at % DOUBLED_EVERY === 0 ? 2 : 1;
    const sent = Array.from({ length: times }, () => send(service, wanted));
    const statuses = (await Promise.all(sent)).flat();
    expect(statuses.filter((status) => status === 201).length).toBeLessThanOrEqual(1);
    onDone();
  }
}

/** Cuts connections around COMMIT; returns how often it has done so. */
function cutCommits(proxy: Proxy): () => number {
  let commits = 0;
  let cuts = 0;
  proxy.judge = (chunk) => {
    if (!chunk.includes('COMMIT')) return 'pass';
    commits += 1;
    if (commits % CUT_AFTER_EVERY !== 0 && commits % CUT_BEFORE_EVERY !== 0) return 'pass';
    cuts += 1;
    return commits % CUT_AFTER_EVERY === 0 ? 'cut after' : 'cut before';
  };
  return () => cuts;
}

/** A receiver that remembers what it gets. Some events get lost, and some of its answers. */
function makeReceiver(): { readonly arrived: LedgerEvent[]; readonly deliver: Deliver } {
  const arrived: LedgerEvent[] = [];
  let deliveries = 0;
  const deliver: Deliver = async (event) => {
    deliveries += 1;
    const isLost = deliveries % LOST_DELIVERY_EVERY === 0;
    if (isLost && deliveries % 2 === 0) throw new Error('the event was lost');
    arrived.push(event);
    await sleep(1);
    if (isLost) throw new Error('the answer was lost');
  };
  return { arrived, deliver };
}

/** Each event at least once, and none before the one with the number before it. */
function checkEvents(arrived: readonly LedgerEvent[], entries: readonly EntryRow[]): void {
  const first = new Map<string, LedgerEvent[]>();
  for (const event of arrived) {
    const known = first.get(event.account) ?? [];
    first.set(event.account, known);
    const number = Number(event.number);
    expect(number, `an event of ${event.account} came too early`).toBeLessThanOrEqual(
      known.length + 1,
    );
    if (number > known.length) known.push(event);
  }
  const events = [...first.values()].flat();
  const order = (a: LedgerEvent, b: LedgerEvent): number =>
    a.account.localeCompare(b.account) || Number(a.number) - Number(b.number);
  expect(events.sort(order)).toEqual(entries.map(eventOf).sort(order));
}

/** The balances after all transfers of all clients. */
function expectedBalances(): Map<string, bigint> {
  const balances = new Map(ACCOUNTS.map((id) => [id, 0n]));
  for (let client = 0; client < CLIENTS; client++) {
    for (const { from, to, amount } of wantedBy(client)) {
      balances.set(from, (balances.get(from) ?? 0n) - BigInt(amount));
      balances.set(to, (balances.get(to) ?? 0n) + BigInt(amount));
    }
  }
  return balances;
}

/**
 * Runs the clients over a proxy. `disturb` is called when a third of the transfers is done. Returns
 * how lost COMMITs ended.
 */
async function storm(url: string, disturb: () => Promise<void>): Promise<string[]> {
  const outcomes: string[] = [];
  const onLost = (message: unknown): void => {
    outcomes.push((message as CommitLostEvent).outcome);
  };
  subscribe('braiddb:transaction:commit-lost', onLost);
  await using proxy = await startProxy(url);
  await using db = await connect(proxy.url, { connectTimeoutMs: 2_000, graceMs: 500 });
  await createTables(db);
  for (const id of ACCOUNTS) await openAccount(db, id, null);
  const cuts = cutCommits(proxy);
  const { arrived, deliver } = makeReceiver();
  await using relay = new Relay(db, deliver, { pollMs: 50, pauseMs: 5 });
  const service = makeService(db);
  let done = 0;
  let disturbed: Promise<void> | undefined;
  const onDone = (): void => {
    done += 1;
    if (done >= (CLIENTS * TRANSFERS) / 3) disturbed ??= disturb();
  };
  const clients = Array.from({ length: CLIENTS }, (_, client) =>
    runClient(service, client, onDone),
  );
  await Promise.all(clients);
  await disturbed;
  await service.close();

  const undelivered = async (): Promise<number> => {
    const { n } = await db.one<{ n: number }>`SELECT count(*)::int4 AS n FROM ledger_outbox`;
    return n;
  };
  await expect.poll(undelivered, { timeout: 60_000, interval: 50 }).toBe(0);
  proxy.judge = () => 'pass';
  await relay.close();
  unsubscribe('braiddb:transaction:commit-lost', onLost);
  expect(await audit(db)).toEqual({ sum: 0n, transfers: CLIENTS * TRANSFERS, faults: [] });
  const { rows } = await db.query<{ id: string; balance: bigint }>`
    SELECT id, balance FROM ledger_account`;
  expect(new Map(rows.map(({ id, balance }) => [id, balance]))).toEqual(expectedBalances());
  const { rows: entries } = await db.query<EntryRow>`SELECT * FROM ledger_entry`;
  expect(entries).toHaveLength(2 * CLIENTS * TRANSFERS);
  checkEvents(arrived, entries);
  const twice = arrived.length - entries.length;
  expect(cuts()).toBeGreaterThan(CLIENTS);
  expect(twice).toBeGreaterThan(0);
  process.stdout.write(
    `${cuts()} cuts; ${outcomes.length} lost COMMITs; ${twice} events came more than once\n`,
  );
  return outcomes;
}

const binary = inject('braidBinary');
const postgres = inject('postgresUrl');

describe.skipIf(binary === undefined)('clients of the ledger on BraidDB', () => {
  it('are served once for each key while connections are cut and the server dies', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'braid-ledger-'));
    let server = await startServer(binary ?? '', { folder });
    const listen = new URL(server.url).host;
    const outcomes = await storm(server.url, async () => {
      await server.kill();
      server = await startServer(binary ?? '', { folder, listen });
    });
    // The tokens have answered for COMMITs that had arrived.
    expect(outcomes).toContain('committed');
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
});

describe.skipIf(postgres === undefined)('clients of the ledger on POSTGRES_URL', () => {
  it('are served once for each key while connections are cut', async () => {
    await using database = await createDatabase(postgres ?? '', { prefix: 'ledger' });
    await storm(database.url, () => Promise.resolve());
  });
});
