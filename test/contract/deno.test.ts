import { contract } from '../contract.js'
import { startDeno } from '../support/deno.js'
import { reachThrough } from './reach.js'

contract('Deno.serve', async () => {
  // Nothing but the socket: the service itself needs no other permission.
  const deno = await startDeno('test/contract/deno-server.ts', { permissions: ['--allow-net=127.0.0.1'] })
  const [, port] = await deno.line(/^listening on (\d+)$/)
  return reachThrough(fetch, `http://127.0.0.1:${port}`, () => deno.stop())
})
