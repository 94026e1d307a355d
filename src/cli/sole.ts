import { rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { Fault } from './fault.js'

/** Of the name of a socket; systems take a little more. */
const MOST_BYTES = 100

/**
 * Refuses a folder that another server has, since each would write over what the other one adds. A socket in it answers
 * for as long as its process lives, however that ends. Where there can be none, as on Windows, nobody is refused.
 */
export async function claimFolder(folder: string): Promise<void> {
  const path = join(folder, '.server')
  if (Buffer.byteLength(path) > MOST_BYTES) return
  const server = createServer((socket) => socket.destroy()).unref()
  process.once('exit', () => server.listening && rmSync(path, { force: true }))
  // Asked before it is taken, too: Bun takes a socket away from one that lives.
  for (const last of [false, true]) {
    const what = `The folder ${folder} of --responses is used by another local-v1 that runs.`
    if (await answers(path)) throw new Fault(`${what} Give each its own, or end the other one first.`, 1)
    if (last) rmSync(path, { force: true })
    if ((await listened(server, path)) !== 'EADDRINUSE') return
  }
}

/** Why not, or undefined. */
function listened(server: Server, path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
    server.listen(path, () => resolve(undefined))
  })
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
