#!/usr/bin/env node
/**
 * `npx braiddb-queue sql [--schema NAME] [--target braiddb|postgresql]`: prints the statements that
 * create the tables, for example into a file that `npx braiddb migrate` applies.
 */

import { parseArgs } from 'node:util';

import { schemaSql } from './schema.js';

const USAGE = 'Usage: npx braiddb-queue sql [--schema NAME] [--target braiddb|postgresql]';

function main(): string {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      schema: { type: 'string', default: 'braid_queue' },
      target: { type: 'string', default: 'braiddb' },
    },
  });
  const { schema, target } = values;
  if (positionals.join() !== 'sql' || schema === '') throw new Error(USAGE);
  if (target !== 'braiddb' && target !== 'postgresql') throw new Error(USAGE);
  return schemaSql({ schema, target });
}

try {
  process.stdout.write(main());
} catch (error) {
  process.stderr.write(
    `braiddb-queue: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = 2;
}
