/**
 * Spans of statements, transactions and batches.
 *
 * ```text
 *  transaction (internal)
 *    ├── SELECT orders (client)       one for each statement, of each attempt
 *    ├── what your code does in the function
 *    └── UPDATE orders (client)
 * ```
 */

import type { BatchTrace, QueryTrace, RetryEvent, TransactionTrace } from '@braiddb/sdk';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

import { errorAttributes, NAMES, placeAttributes, statementAttributes } from './attributes.js';
import type { TraceListener } from './channels.js';
import { summarize } from './summary.js';

/** What a span is made of, and what it gets at its end. */
export interface SpanPlan<Message extends object> {
  readonly kind: SpanKind;
  readonly begin: (message: Message) => { name: string; attributes: Attributes };
  readonly end: (message: Message) => Attributes;
}

/** Makes a span for each trace of a channel. */
export function spansOf<Message extends object & { error?: unknown }>(
  tracer: Tracer,
  { kind, begin, end }: SpanPlan<Message>,
): TraceListener<Message> {
  const spans = new WeakMap<Message, Span>();
  const onStart = (message: Message): Context => {
    const { name, attributes } = begin(message);
    const span = tracer.startSpan(name, { kind, attributes });
    spans.set(message, span);
    return trace.setSpan(context.active(), span);
  };
  const onEnd = (message: Message): void => {
    const span = spans.get(message);
    if (span === undefined) return;
    span.setAttributes({ ...end(message), ...errorAttributes(message) });
    if ('error' in message) {
      const { error } = message;
      const text = error instanceof Error ? error.message : String(error);
      span.setStatus({ code: SpanStatusCode.ERROR, message: text });
    }
    span.end();
  };
  return { onStart, onEnd };
}

/** A span for each statement, script, COPY, stream and LISTEN. */
export function statementSpans(tracer: Tracer, withText: boolean): TraceListener<QueryTrace> {
  return spansOf<QueryTrace>(tracer, {
    kind: SpanKind.CLIENT,
    begin: (query) => {
      const summary = summarize(query.text);
      const attributes = {
        ...placeAttributes(query),
        ...statementAttributes(summary),
        ...(withText ? { [NAMES.text]: summary.text } : {}),
        ...(query.attempt === undefined ? {} : { [NAMES.attempt]: query.attempt }),
      };
      return { name: summary.summary || 'query', attributes };
    },
    end: (query) => ({
      ...placeAttributes(query),
      ...(query.rows === undefined ? {} : { [NAMES.returnedRows]: query.rows }),
    }),
  });
}

/** A span for each transaction, with all its attempts. */
export function transactionSpans(tracer: Tracer): TraceListener<TransactionTrace> {
  return spansOf<TransactionTrace>(tracer, {
    kind: SpanKind.INTERNAL,
    begin: ({ isolation, readOnly }) => ({
      name: 'transaction',
      attributes: { [NAMES.isolation]: isolation, [NAMES.readOnly]: readOnly },
    }),
    end: (transaction) => ({
      ...placeAttributes(transaction),
      [NAMES.attempts]: transaction.attempts,
    }),
  });
}

/** A span for each batch of a batcher. */
export function batchSpans(tracer: Tracer): TraceListener<BatchTrace> {
  return spansOf<BatchTrace>(tracer, {
    kind: SpanKind.INTERNAL,
    begin: ({ table, mode, rows }) => ({
      name: `batch ${mode} ${table}`,
      attributes: { [NAMES.collection]: table, [NAMES.batchSize]: rows },
    }),
    end: (batch) => ({
      ...placeAttributes(batch),
      ...(batch.rejected === undefined ? {} : { [NAMES.rejectedRows]: batch.rejected }),
    }),
  });
}

/** Notes a retry as an event of the span of its transaction. */
export function noteRetry({ attempt, delayMs, from, error }: RetryEvent): void {
  trace.getActiveSpan()?.addEvent('retry', {
    [NAMES.attempt]: attempt,
    'braiddb.retry.delay_ms': delayMs,
    'braiddb.retry.from': from,
    ...errorAttributes({ error }),
  });
}
