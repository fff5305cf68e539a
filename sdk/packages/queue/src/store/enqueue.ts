/**
 * Puts jobs into the database, in a transaction of the caller's or of their own.
 *
 * Without a key nothing is waited for: the rows travel with the next statement, or with COMMIT.
 */

import type { Transaction } from '@braiddb/sdk';

import type { QueueContext } from '../context.js';
import { QueueError } from '../errors.js';
import { nextId } from '../ids.js';
import type { JobSettings } from '../options.js';

/** A job with its payload as text. */
export interface NewJob extends JobSettings {
  readonly payload: string;
}

/** Rows of one statement at most. */
const ROWS_MAX = 1_000;

/** Characters of the payloads of one statement, beyond which the next one begins. */
const CHARACTERS_MAX = 4_000_000;

/** How often keys are looked for again that retention has deleted meanwhile. */
const TRIES = 5;

/** Jobs in groups that fit one statement each, in their order. */
export function chunksOf<Item extends { readonly payload: string }>(
  items: readonly Item[],
): Item[][] {
  const chunks: Item[][] = [];
  let characters = 0;
  for (const item of items) {
    const last = chunks.at(-1);
    characters += item.payload.length;
    if (last === undefined || last.length >= ROWS_MAX || characters > CHARACTERS_MAX) {
      chunks.push([item]);
      characters = item.payload.length;
    } else last.push(item);
  }
  return chunks;
}

/** Enqueues jobs and announces them; their ids, in the order of the jobs. */
export async function insertJobs(
  { tables, settings }: QueueContext,
  tx: Transaction,
  queue: string,
  jobs: readonly NewJob[],
): Promise<{ ids: string[]; added: number }> {
  const ids: string[] = [];
  let added = 0;
  let isReady = false;
  for (const chunk of chunksOf(jobs)) {
    const named = chunk.map((job) => ({ ...job, id: nextId() }));
    const known = await claimKeys(tables, tx, queue, named);
    const fresh = named.filter(({ id, key }) => key === null || known.get(key) === id);
    ids.push(...named.map(({ id, key }) => (key === null ? id : (known.get(key) ?? id))));
    if (fresh.length === 0) continue;
    added += fresh.length;
    const nowMs = Date.now();
    isReady ||= fresh.some(
      ({ delayMs, runAt }) => delayMs === 0 && (runAt?.getTime() ?? 0) <= nowMs,
    );
    const column = <Name extends keyof (typeof fresh)[number]>(
      name: Name,
    ): (typeof fresh)[number][Name][] => fresh.map((job) => job[name]);
    await tx.run`
      INSERT INTO ${tables.job} (id, queue, state, priority, run_at, due_at, max_attempts, key,
        concurrency_key, payload)
      SELECT id, ${queue}, CASE WHEN at > now() THEN 'delayed' ELSE 'ready' END, priority, at,
        CASE WHEN at > now() THEN at END, max_attempts, key, concurrency_key, payload::jsonb
      FROM (SELECT n.*, coalesce(n.run_at, now() + n.delay_ms * interval '1 millisecond') AS at
        FROM unnest(${column('id')}::uuid[], ${column('priority')}::int4[],
          ${column('runAt')}::timestamptz[], ${column('delayMs')}::float8[],
          ${column('maxAttempts')}::int4[], ${column('key')}::text[],
          ${column('concurrencyKey')}::text[], ${column('payload')}::text[])
          AS n (id, priority, run_at, delay_ms, max_attempts, key, concurrency_key, payload))
        AS new`;
  }
  if (isReady && settings.listen) await announce(tx, settings.schema, queue);
  return { ids, added };
}

/** Announces to workers that a queue has jobs, when the transaction commits. */
export async function announce(tx: Transaction, schema: string, queue: string): Promise<void> {
  await tx.run`SELECT pg_notify(${schema}, ${queue})`;
}

/** The job that each key belongs to: the new one, or that of an earlier call. */
async function claimKeys(
  tables: QueueContext['tables'],
  tx: Transaction,
  queue: string,
  jobs: readonly (NewJob & { id: string })[],
): Promise<Map<string, string>> {
  const wanted = new Map<string, string>();
  for (const { key, id } of jobs) if (key !== null && !wanted.has(key)) wanted.set(key, id);
  const known = new Map<string, string>();
  // In the order of the keys, so that two callers cannot wait for each other.
  let open = [...wanted].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (let tries = 1; open.length > 0; tries++) {
    if (tries > TRIES) throw new QueueError('keys of this call were deleted again and again');
    const keys = open.map(([key]) => key);
    const inserted = await tx.query<{ key: string; id: string }>`
      INSERT INTO ${tables.key} (queue, key, id)
      SELECT ${queue}, n.key, n.id
      FROM unnest(${keys}::text[], ${open.map(([, id]) => id)}::uuid[]) AS n (key, id)
      ON CONFLICT (queue, key) DO NOTHING RETURNING key, id`;
    for (const { key, id } of inserted.rows) known.set(key, id);
    open = open.filter(([key]) => !known.has(key));
    if (open.length === 0) break;
    const earlier = await tx.query<{ key: string; id: string }>`
      SELECT key, id FROM ${tables.key}
      WHERE queue = ${queue} AND key = ANY(${open.map(([key]) => key)}::text[])`;
    for (const { key, id } of earlier.rows) known.set(key, id);
    open = open.filter(([key]) => !known.has(key));
  }
  return known;
}
