/**
 * Preloaded into each worker of the server: collects its garbage when the server's own is, and tells then what its thread
 * has in memory. Needs `--expose-gc`.
 */
import { collect, part } from './thread-memory.mjs'

const channel = new BroadcastChannel('collect garbage')
channel.onmessage = ({ data }) => {
  collect()
  if (data === 'tell') channel.postMessage(part())
}
// It is not to keep the worker alive.
channel.unref()
