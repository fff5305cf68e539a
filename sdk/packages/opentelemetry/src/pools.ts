/** Gauges of connection pools, read from `db.stats()` when metrics are collected. */

import type { Database } from '@braiddb/sdk';
import type { BatchObservableResult, Meter, Observable } from '@opentelemetry/api';

import { NAMES } from './attributes.js';

/** What a pool is called. */
export interface PoolOptions {
  /** The name of the pool, in the attribute `db.client.connection.pool.name`. */
  readonly poolName: string;
}

/** Observes the pools of any number of databases. */
export class PoolGauges {
  readonly #databases = new Map<Database, string>();
  readonly #meter: Meter;
  readonly #observables: Readonly<Record<string, Observable>>;
  readonly #observe = (result: BatchObservableResult): void => {
    for (const [db, pool] of this.#databases) this.#read(db, pool, result);
  };

  constructor(meter: Meter) {
    this.#meter = meter;
    const gauge = (name: string, description: string, unit: string): Observable =>
      meter.createObservableUpDownCounter(name, { description, unit });
    this.#observables = {
      count: gauge('db.client.connection.count', 'Connections, by their state.', '{connection}'),
      max: gauge('db.client.connection.max', 'Connections at most.', '{connection}'),
      pending: gauge(
        'db.client.connection.pending_requests',
        'Calls that wait for a connection.',
        '{request}',
      ),
      rows: gauge('braiddb.client.batch.waiting_rows', 'Rows that wait in batchers.', '{row}'),
    };
    meter.addBatchObservableCallback(this.#observe, Object.values(this.#observables));
  }

  /** Observes one more database, until the function that is returned is called. */
  add(db: Database, { poolName }: PoolOptions): () => void {
    this.#databases.set(db, poolName);
    return () => {
      this.#databases.delete(db);
    };
  }

  /** Observes nothing any more. */
  stop(): void {
    this.#databases.clear();
    this.#meter.removeBatchObservableCallback(this.#observe, Object.values(this.#observables));
  }

  #read(db: Database, pool: string, result: BatchObservableResult): void {
    const { connections, batches } = db.stats();
    const { total, idle, max, waiting } = connections;
    const { count, max: most, pending, rows } = this.#observables;
    const attributes = { [NAMES.pool]: pool, [NAMES.system]: db.server.kind };
    const observe = (to: Observable | undefined, value: number, state?: string): void => {
      const more = state === undefined ? {} : { [NAMES.connectionState]: state };
      if (to !== undefined) result.observe(to, value, { ...attributes, ...more });
    };
    observe(count, idle, 'idle');
    observe(count, total - idle, 'used');
    observe(most, max);
    observe(pending, waiting);
    observe(rows, batches.waiting);
  }
}
