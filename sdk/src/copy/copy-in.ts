/**
 * `copyFrom`: rows that the client sends.
 *
 * ```text
 *  COPY … FROM STDIN ─► server is ready ─► chunks of the source ─► CopyDone ─► number of rows
 *                                             │ source throws, abort
 *                                             └─► CopyFail ─► nothing is stored, the error is thrown
 * ```
 *
 * The source is asked for its next chunk when the last one has been written. A full socket makes the
 * source wait. A COPY is never run again: its source has been read.
 */

import { ignore, onAbort } from '../abort.js';
import type { CallSite } from '../call-sites.js';
import type { TransactionStatus, Wire } from '../connection/driver.js';
import { StatementGroup } from '../connection/group.js';
import { CopySourceError, UsageError, withText } from '../errors.js';
import { makeParsers } from '../sql/parsers.js';
import { CopySourceReader } from './source.js';
import type { CopySource, RunCopy } from './work.js';

/** Bytes of one message. Small chunks are joined, large ones are split. */
const MESSAGE_BYTES = 65_536;
/** A letter and a length stand in front of each message. */
const HEADER_BYTES = 5;
const COPY_DATA = 0x64;

/** Where a COPY comes from. */
export interface CopyCall {
  readonly run: RunCopy;
  readonly text: string;
  readonly signal: AbortSignal | undefined;
  readonly callSite: CallSite;
}

/** Sends everything that the source gives; resolves to the number of rows. */
export async function copyFrom(call: CopyCall, source: CopySource): Promise<number> {
  const { run, text, signal: given, callSite } = call;
  const reader = new CopySourceReader(source);
  const group = new CopyInGroup(reader, text);
  const stop = new AbortController();
  const signal = given === undefined ? stop.signal : AbortSignal.any([given, stop.signal]);
  const forget = onAbort(signal, () => {
    group.giveUp('aborted');
  });
  try {
    signal.throwIfAborted();
    const { rowCount } = await run({
      ...{ text, signal, callSite, stop, isRead: false },
      send: (connection) => connection.sendGroup(text, group),
      mayRun: () => group.isComplete,
    });
    if (!group.isStarted) {
      throw new UsageError(withText('the statement is no COPY … FROM STDIN', text));
    }
    return rowCount ?? 0;
  } finally {
    forget();
    await reader.close();
  }
}

class CopyInGroup extends StatementGroup {
  /** The server has asked for rows. */
  isStarted = false;
  /** All rows have been sent: COPY may have taken effect. */
  isComplete = false;
  readonly #reader: CopySourceReader;
  /** Aborts when the answer is there, or COPY was given up. */
  readonly #over = new AbortController();
  #wire: Wire | undefined;
  #failure: CopySourceError | undefined;

  constructor(reader: CopySourceReader, text: string) {
    super(makeParsers({}), [], new Map(), text);
    this.#reader = reader;
  }

  /** Makes the server store nothing, unless all rows have been sent. */
  giveUp(reason: string): void {
    if (this.#over.signal.aborted || this.isComplete) return;
    this.#over.abort();
    this.#wire?.sendCopyFail(reason);
  }

  override handleCopyInResponse(wire: Wire): void {
    if (this.isStarted || this.#over.signal.aborted) {
      wire.sendCopyFail('given up, or a second COPY in one text');
      return;
    }
    this.isStarted = true;
    this.#wire = wire;
    void this.#pump(wire);
  }

  override handleCopyOut(): void {
    this.refuse('COPY … TO STDOUT sends rows: read them with copyTo');
  }

  override handleError(error: unknown, wire: Wire): void {
    super.handleError(error, wire);
    this.#over.abort();
  }

  override finish(status: TransactionStatus | undefined): void {
    this.#over.abort();
    super.finish(status);
  }

  protected override reasonOf(error: unknown): unknown {
    return this.#failure ?? error;
  }

  /** Writes the source to the wire. */
  async #pump(wire: Wire): Promise<void> {
    const { signal } = this.#over;
    const writer = new CopyWriter(wire);
    try {
      for (;;) {
        const bytes = await this.#reader.next();
        if (signal.aborted) return;
        if (bytes === undefined) break;
        for (let start = 0; start < bytes.length; start += MESSAGE_BYTES) {
          if (writer.add(bytes.subarray(start, start + MESSAGE_BYTES))) await drained(wire, signal);
          // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- it has waited
          if (signal.aborted) return;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#failure = new CopySourceError(error);
      this.giveUp(this.#failure.message.replaceAll('\0', ' '));
      return;
    }
    writer.flush();
    this.isComplete = true;
    wire.endCopyFrom();
  }
}

/** Joins bytes into messages. */
class CopyWriter {
  readonly #wire: Wire;
  #message = Buffer.allocUnsafe(HEADER_BYTES + MESSAGE_BYTES);
  #end = HEADER_BYTES;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** Takes bytes, at most those of a message. True if the socket is full. */
  add(bytes: Uint8Array): boolean {
    const room = HEADER_BYTES + MESSAGE_BYTES - this.#end;
    const fitting = bytes.subarray(0, room);
    this.#message.set(fitting, this.#end);
    this.#end += fitting.length;
    if (fitting.length < room) return false;
    this.flush();
    this.add(bytes.subarray(room));
    return this.#wire.stream.writableNeedDrain;
  }

  /** Writes what it has. */
  flush(): void {
    if (this.#end === HEADER_BYTES || !this.#wire.stream.writable) return;
    this.#message[0] = COPY_DATA;
    this.#message.writeInt32BE(this.#end - 1, 1);
    this.#wire.stream.write(this.#message.subarray(0, this.#end));
    // The socket keeps the message until it is sent.
    this.#message = Buffer.allocUnsafe(HEADER_BYTES + MESSAGE_BYTES);
    this.#end = HEADER_BYTES;
  }
}

/** Resolves when the socket takes more, or the signal aborts. */
function drained({ stream }: Wire, signal: AbortSignal): Promise<void> {
  if (signal.aborted || !stream.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    let forget = ignore;
    const done = (): void => {
      stream.removeListener('drain', done);
      forget();
      resolve();
    };
    stream.on('drain', done);
    forget = onAbort(signal, done);
  });
}
