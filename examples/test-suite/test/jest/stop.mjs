/** Stops the server after the run. */

export default async function stop() {
  await globalThis.braidServer.close();
}
