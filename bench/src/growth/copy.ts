/**
 * COPY FROM STDIN through `pg`, which answers the server's request for data by a method of the
 * query object.
 */

import type pg from 'pg';

/** What a query object calls on its connection. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** The most bytes of one message. */
const CHUNK_BYTES = 65_536;

/** Runs a COPY … FROM STDIN statement with these lines as its data. */
export function copyFrom(client: pg.Client, text: string, data: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    const query = {
      submit: (connection: CopyConnection): void => {
        connection.query(text);
      },
      handleCopyInResponse: (connection: CopyConnection): void => {
        const bytes = Buffer.from(data);
        for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
          connection.sendCopyFromChunk(bytes.subarray(at, at + CHUNK_BYTES));
        }
        connection.endCopyFrom();
      },
      handleCommandComplete: (): void => undefined,
      handleError: (error: Error): void => {
        failure = error;
        reject(error);
      },
      handleReadyForQuery: (): void => {
        if (failure === undefined) resolve();
      },
    };
    client.query(query as unknown as pg.Submittable);
  });
}
