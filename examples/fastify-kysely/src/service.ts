/**
 * The service.
 *
 * ```text
 *  items.ts       GET, POST /items, GET, PATCH, DELETE /items/:id
 *  purchases.ts   POST /purchases: a transaction that runs again on conflicts
 *  requests.ts    signals of requests, answers to errors
 *  database.ts    tables and migrations
 * ```
 */

import type { FastifyInstance } from 'fastify';
import { fastify } from 'fastify';
import type { Kysely } from 'kysely';

import type { Schema } from './database.js';
import { addItems } from './items.js';
import { addPurchases } from './purchases.js';
import { answerErrors } from './requests.js';

/** Builds the service; the caller listens and closes. */
export function makeService(kysely: Kysely<Schema>): FastifyInstance {
  const service = fastify();
  answerErrors(service);
  addItems(service, kysely);
  addPurchases(service, kysely);
  return service;
}
