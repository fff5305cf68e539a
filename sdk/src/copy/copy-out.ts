/**
 * `copyTo`: rows that the server sends, as chunks of bytes.
 *
 * ```text
 *  first next() ─► COPY … TO STDOUT ─► chunks ─► the last one, connection back
 *                       │  ▲ more than BUFFER_BYTES wait: the socket pauses
 *                       └──┴─ break, abort, close ─► cancelled on the server, connection back
 * ```
 */

import { ignore, onAbort } from '../abort.js';
import type { TransactionStatus, Wire } from '../connection/driver.js';
import { StatementGroup } from '../connection/group.js';
import { UsageError, withText } from '../errors.js';
import { makeParsers } from '../sql/parsers.js';
import type { CopyCall } from './copy-in.js';
import { LEFT } from './work.js';

/** Bytes of one chunk, unless one message of the server has more. */
const CHUNK_BYTES = 65_536;
/** Bytes that wait for the reader before the socket pauses. */
const BUFFER_BYTES = 4 * CHUNK_BYTES;

/** A `copyTo` on its way. */
export interface CopyOutCall extends CopyCall {
  /** The statement changes nothing: the SDK has written it. */
  readonly onlyReads: boolean;
  /** Gets the number of rows when the last chunk has been read. */
  readonly onCount: (rows: number) => void;
  /** Aborted with {@link LEFT} when the reader leaves. */
  readonly stop: AbortController;
}

/** Reads a COPY; nothing is sent before the first chunk is asked for. */
export async function* copyTo(call: CopyOutCall): AsyncGenerator<Buffer, undefined, undefined> {
  const { run, text, signal, callSite, onlyReads, onCount, stop } = call;
  signal?.throwIfAborted();
  const group = new CopyOutGroup(text);
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const forget = onAbort(either, () => {
    group.drop();
  });
  const done = run({
    ...{ text, signal: either, callSite, stop, isRead: true },
    send: (connection) => connection.sendGroup(text, group),
    mayRun: () => !onlyReads,
  }).finally(() => {
    group.end();
  });
  done.catch(ignore);
  try {
    for (let chunk = await group.next(); chunk !== undefined; chunk = await group.next()) {
      yield chunk;
    }
    const { rowCount } = await done;
    if (!group.isStarted) {
      throw new UsageError(withText('the statement is no COPY … TO STDOUT', text));
    }
    onCount(rowCount ?? 0);
    return undefined;
  } catch (error) {
    if (stop.signal.reason === LEFT && signal?.aborted !== true) return undefined;
    throw error;
  } finally {
    stop.abort(LEFT);
    forget();
    await done.catch(ignore);
  }
}

class CopyOutGroup extends StatementGroup {
  /** The server has begun to send rows. */
  isStarted = false;
  /** Full chunks that wait, and the one that is being filled. */
  #chunks: Buffer[] = [];
  #open = Buffer.allocUnsafe(CHUNK_BYTES);
  #filled = 0;
  #waitingBytes = 0;
  #paused: Wire | undefined;
  #isOver = false;
  #isDropping = false;
  #wake = ignore;

  constructor(text: string) {
    super(makeParsers({}), [], new Map(), text);
  }

  /** The next chunk; undefined when none will come. */
  async next(): Promise<Buffer | undefined> {
    while (this.#waitingBytes === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const chunk = this.#chunks.shift() ?? this.#takeOpen();
    this.#waitingBytes -= chunk?.length ?? 0;
    if (this.#waitingBytes < BUFFER_BYTES / 2) this.#resume();
    return chunk;
  }

  /** Drops what has come and what will come: the reader has left. */
  drop(): void {
    this.#isDropping = true;
    this.#chunks = [];
    this.#filled = 0;
    this.#waitingBytes = 0;
    this.#resume();
  }

  /** Nothing more will come. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  override handleCopyOut(): void {
    this.isStarted = true;
  }

  override handleCopyInResponse(wire: Wire): void {
    this.refuse('COPY … FROM STDIN takes rows: send them with copyFrom');
    wire.sendCopyFail('copyTo sends no rows');
  }

  override handleCopyData = ({ chunk }: { readonly chunk: Buffer }, wire: Wire): void => {
    if (this.#isDropping) return;
    // Copied, because `pg` uses the memory of a message again.
    if (this.#filled + chunk.length > CHUNK_BYTES) {
      const full = this.#takeOpen();
      if (full !== undefined) this.#chunks.push(full);
    }
    if (chunk.length > CHUNK_BYTES) this.#chunks.push(Buffer.from(chunk));
    else {
      this.#open.set(chunk, this.#filled);
      this.#filled += chunk.length;
    }
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes >= BUFFER_BYTES && this.#paused === undefined) {
      this.#paused = wire;
      wire.stream.pause();
    }
    this.#wake();
  };

  override finish(status: TransactionStatus | undefined): void {
    super.finish(status);
    // The connection goes to others before the last chunks have been read.
    this.#resume();
    this.#wake();
  }

  #takeOpen(): Buffer | undefined {
    if (this.#filled === 0) return undefined;
    const chunk = this.#open.subarray(0, this.#filled);
    this.#open = Buffer.allocUnsafe(CHUNK_BYTES);
    this.#filled = 0;
    return chunk;
  }

  #resume(): void {
    this.#paused?.stream.resume();
    this.#paused = undefined;
  }
}
