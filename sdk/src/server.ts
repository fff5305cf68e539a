/**
 * Which server this is: read from its start-up parameters, without a query.
 */

import { checkMethod } from './options/checks.js';

/** What the SDK knows about a server. */
export interface ServerInfo {
  readonly kind: 'braiddb' | 'cockroachdb' | 'postgresql';
  /** The product's own version, empty where the server does not say. */
  readonly version: string;
  /** Everything that the server announced when the connection began. */
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * Recognises a server by its start-up parameters: BraidDB sends `braid_version`, CockroachDB
 * `crdb_version`; everything else is taken for PostgreSQL.
 *
 * @example
 * ```ts
 * import { detectServer } from '@braiddb/sdk';
 * console.assert(detectServer(new Map([['braid_version', '0.1.0']])).kind === 'braiddb');
 * ```
 */
export function detectServer(parameters: ReadonlyMap<string, string>): ServerInfo {
  checkMethod(parameters, 'get', 'detectServer takes a Map of the start-up parameters');
  const braid = parameters.get('braid_version');
  if (braid !== undefined) return { kind: 'braiddb', version: braid, parameters };
  const cockroach = parameters.get('crdb_version');
  if (cockroach !== undefined) return { kind: 'cockroachdb', version: cockroach, parameters };
  const version = parameters.get('server_version') ?? '';
  return { kind: 'postgresql', version, parameters };
}

/** What a server can do beyond PostgreSQL, as far as the SDK uses it. */
export interface Features {
  /** `SAVEPOINT cockroach_restart`: a transaction starts again and keeps its locks. */
  readonly restartSavepoint: boolean;
  /** That savepoint at every isolation level; else at SERIALIZABLE only. */
  readonly restartAtEveryLevel: boolean;
  /** `RETURNING NOTHING`: a write is acknowledged before it has run. */
  readonly returningNothing: boolean;
  /** `UPSERT INTO`. */
  readonly upsert: boolean;
  /**
   * Makes a token for `commit_token`, after which `braid_commit_status` can be asked for the
   * outcome of a lost commit; undefined where the server knows no tokens.
   */
  readonly commitToken: (() => string) | undefined;
  /** The setting `traceparent`, for logs and timelines. */
  readonly traceparent: boolean;
}

/** What is asked for when the first connection is made. */
export type AskedFeatures = Pick<Features, 'commitToken' | 'traceparent'>;

/** Nothing was asked for, or the server has none of it. */
export const NOTHING_ASKED: AskedFeatures = { commitToken: undefined, traceparent: false };

/** The features of a kind of server, and what it has answered. */
export function featuresOf(kind: ServerInfo['kind'], asked: AskedFeatures): Features {
  return {
    restartSavepoint: kind !== 'postgresql',
    restartAtEveryLevel: kind === 'braiddb',
    returningNothing: kind === 'braiddb',
    upsert: kind !== 'postgresql',
    ...asked,
  };
}
