/** Subscriptions to the tracing channels of the SDK. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';

import type { Context } from '@opentelemetry/api';
import { context } from '@opentelemetry/api';

/** What may be heard of the traces of one channel. */
export interface TraceListener<Message extends object> {
  /** The trace begins. The context that is returned holds for the work that it traces. */
  readonly onStart: (trace: Message) => Context | undefined;
  /** The trace has ended, perhaps with an error. */
  readonly onEnd: (trace: Message) => void;
}

/** Ends a subscription. */
export type Unsubscribe = () => void;

/** Runs the work of a trace in a context of OpenTelemetry, as `bindStore` of a channel asks for. */
class ContextStore extends AsyncLocalStorage<Context> {
  override run<R>(store: Context, callback: () => R): R;
  override run<R, TArgs extends unknown[]>(
    store: Context,
    callback: (...args: TArgs) => R,
    ...args: TArgs
  ): R;
  override run<R, TArgs extends unknown[]>(
    store: Context,
    callback: (...args: TArgs) => R,
    ...args: TArgs
  ): R {
    return context.with(store, () => callback(...args));
  }
}

/** Listens to a channel of the SDK, for example `query`. */
export function listen<Message extends object>(
  name: string,
  { onStart, onEnd }: TraceListener<Message>,
): Unsubscribe {
  const { start } = tracingChannel<unknown, Message>(`braiddb:${name}`);
  const store: AsyncLocalStorage<unknown> = new ContextStore();
  const ended = `tracing:braiddb:${name}:asyncEnd`;
  const hear = (trace: unknown): void => {
    onEnd(trace as Message);
  };
  start.bindStore(store, (trace) => onStart(trace) ?? context.active());
  subscribe(ended, hear);
  return () => {
    start.unbindStore(store);
    unsubscribe(ended, hear);
  };
}
