/**
 * Reads the source of `copyFrom`: bytes or strings from anything that can be iterated.
 *
 * The first chunk is asked for at once. A file that does not exist then fails here, not as an error
 * event that nobody listens to while the SDK waits for a connection.
 */

import { ignore } from '../abort.js';
import { UsageError } from '../errors.js';
import type { CopySource } from './work.js';

type Chunk = string | Uint8Array;

/** What an iterator answers, at once or later. */
type Answer = IteratorResult<Chunk, unknown>;

/** Sources that can be read once, and have been. */
const used = new WeakSet();

/** Reads chunks as bytes. */
export class CopySourceReader {
  readonly #source: CopySource;
  readonly #iterator: Iterator<Chunk, unknown> | AsyncIterator<Chunk, unknown>;
  #pending: Promise<Answer> | undefined;
  #isDone = false;
  /** The first half of a surrogate pair at the end of the last string. */
  #half = '';

  constructor(source: CopySource) {
    this.#source = source;
    this.#iterator = iteratorOf(source);
    this.#pending = this.#ask();
  }

  /** The next bytes; undefined at the end. Rejects with what the source throws. */
  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const answer = await (this.#pending ?? this.#ask());
      this.#pending = undefined;
      if (answer.done === true) {
        this.#isDone = true;
        if (this.#half !== '') throw new UsageError(HALF_A_PAIR);
        return undefined;
      }
      const bytes = this.#bytes(answer.value);
      if (bytes.length > 0) return bytes;
    }
  }

  /** Ends the source: no more is wanted. Does not wait for a chunk that is on its way. */
  async close(): Promise<void> {
    if (this.#isDone) return;
    this.#isDone = true;
    const { destroy } = this.#source as { destroy?: () => unknown };
    if (typeof destroy === 'function') destroy.call(this.#source);
    const returned = (async () => this.#iterator.return?.())().catch(ignore);
    if (this.#pending === undefined) await returned;
  }

  #ask(): Promise<Answer> {
    const pending = (async () => this.#iterator.next())();
    this.#pending = pending;
    // A caller that waits for the chunk receives the error; others are refused from now on.
    pending.catch(() => (this.#isDone = true));
    return pending;
  }

  #bytes(chunk: unknown): Uint8Array {
    if (chunk instanceof Uint8Array) {
      if (this.#half !== '') throw new UsageError(HALF_A_PAIR);
      return chunk;
    }
    if (typeof chunk !== 'string') {
      throw new UsageError('a chunk of COPY is a string or bytes (Uint8Array, Buffer)');
    }
    let text = this.#half + chunk;
    this.#half = /[\uD800-\uDBFF]$/.exec(text)?.[0] ?? '';
    if (this.#half !== '') text = text.slice(0, -1);
    if (!text.isWellFormed()) throw new UsageError(HALF_A_PAIR);
    return Buffer.from(text);
  }
}

const HALF_A_PAIR = 'the text has half a surrogate pair, which UTF-8 cannot express';

function iteratorOf(source: CopySource): Iterator<Chunk> | AsyncIterator<Chunk> {
  if (typeof source === 'string' || source instanceof Uint8Array) {
    return [source][Symbol.iterator]();
  }
  const iterable = source as Partial<Iterable<Chunk> & AsyncIterable<Chunk>> | null | undefined;
  const iterator = iterable?.[Symbol.asyncIterator]?.() ?? iterable?.[Symbol.iterator]?.();
  if (iterator === undefined) {
    throw new UsageError(
      'the source of COPY must be a stream, an iterable of strings or bytes, a string or bytes',
    );
  }
  // Read again in a second attempt of a transaction, these would be empty, and no row would be lost
  // with an error.
  const { pipe, getReader } = source as { pipe?: unknown; getReader?: unknown };
  const isReadOnce =
    iterator === (source as unknown) || pipe !== undefined || getReader !== undefined;
  if (isReadOnce && used.has(source)) {
    throw new UsageError(
      'this source of COPY has been read: make a new one, in a transaction inside its function',
    );
  }
  used.add(source);
  return iterator;
}
