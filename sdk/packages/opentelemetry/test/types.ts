/**
 * What the compiler must accept and refuse. Checked by `tsc`, never run.
 */

import type { Database } from '@braiddb/sdk';
import { connect } from '@braiddb/sdk';
import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { expectTypeOf } from 'vitest';

import type { Instrumentation, StatementSummary } from '../src/index.js';
import { instrument, summarize, traceparent } from '../src/index.js';

export function optionsAreThoseOfTheConventions(
  tracerProvider: TracerProvider,
  meterProvider: MeterProvider,
): void {
  expectTypeOf(instrument()).toEqualTypeOf<Instrumentation>();
  instrument({ tracerProvider, meterProvider, queryText: false });
  instrument({ tracerProvider: undefined });
  // @ts-expect-error Meters and tracers have providers of their own.
  instrument({ tracerProvider: meterProvider });
  // @ts-expect-error There is no such option.
  instrument({ text: true });
}

export function poolsHaveNames(telemetry: Instrumentation, db: Database): void {
  expectTypeOf(telemetry.observe(db, { poolName: 'orders' })).toEqualTypeOf<() => void>();
  // @ts-expect-error The name is missing.
  telemetry.observe(db, {});
  // @ts-expect-error A URL is no database.
  telemetry.observe('postgresql://localhost', { poolName: 'orders' });
  using ended = telemetry;
  ended.stop();
}

export async function traceparentFitsConnect(): Promise<void> {
  expectTypeOf(traceparent()).toEqualTypeOf<string | undefined>();
  await connect('postgresql://localhost', { traceparent });
  // @ts-expect-error The function is meant, not what it returns now.
  await connect('postgresql://localhost', { traceparent: traceparent() });
}

export function summariesAreRead(): void {
  const summary = summarize('SELECT 1');
  expectTypeOf(summary).toEqualTypeOf<StatementSummary>();
  expectTypeOf(summary.tables).toEqualTypeOf<readonly string[]>();
  // @ts-expect-error A text is needed.
  summarize(1);
}
