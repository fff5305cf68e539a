/**
 * An iterator whose source is made when the first value is asked for.
 */

/** The values of a source that may be loaded late; calls are answered one after the other. */
export interface LazyIterator<Value>
  extends AsyncIterableIterator<Value, undefined, undefined>, AsyncDisposable {
  next(): Promise<IteratorResult<Value, undefined>>;
  return(): Promise<IteratorResult<Value, undefined>>;
}

const DONE = Object.freeze({ done: true, value: undefined });

/** What a lazy iterator reads from. */
type Source<Value> = Required<Pick<AsyncIterator<Value, undefined, undefined>, 'next' | 'return'>>;

/** Makes an iterator; `onReturn` ends a read that is under way. */
export function lazyIterator<Value>(
  load: () => Promise<Source<Value>>,
  onReturn: () => void,
): LazyIterator<Value> {
  let loading: Promise<Source<Value>> | undefined;
  let source: Source<Value> | undefined;
  let isOver = false;
  const loaded = (): Promise<Source<Value>> =>
    (loading ??= load().then((value) => (source = value)));
  const end = async (): Promise<IteratorResult<Value, undefined>> => {
    isOver = true;
    onReturn();
    if (loading !== undefined) await (await loading).return();
    return DONE;
  };
  const iterator: LazyIterator<Value> = {
    next: async () => {
      if (isOver) return DONE;
      return (source ?? (await loaded())).next();
    },
    return: end,
    [Symbol.asyncIterator]: () => iterator,
    [Symbol.asyncDispose]: async () => {
      await end();
    },
  };
  return iterator;
}
