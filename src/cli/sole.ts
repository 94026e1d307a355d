import { createHash } from 'node:crypto'
import { realpathSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Fault } from './fault.js'

/** Of the name of a socket; systems take a little more. */
const MOST_BYTES = 100

const IS_WINDOWS = process.platform === 'win32'

/**
 * Refuses a folder that another server has, since each would write over what the other one adds. A socket in it answers
 * for as long as its process lives, however that ends.
 */
export async function claimFolder(folder: string): Promise<void> {
  const path = socketOf(folder)
  const server = createServer((socket) => socket.destroy()).unref()
  process.once('exit', () => server.listening && remove(path))
  // Asked before it is taken, too: Bun takes a socket away from one that lives.
  for (const last of [false, true]) {
    const what = `The folder ${folder} of --responses is used by another local-v1 that runs.`
    if (await answers(path)) throw new Fault(`${what} Give each its own, or end the other one first.`, 1)
    if (last) remove(path)
    if ((await listened(server, path)) !== 'EADDRINUSE') return
  }
}

/** One outside tells of a folder whose path is too long, and on Windows, which has none in folders. */
function socketOf(folder: string): string {
  // It may have other names.
  const real = realpathSync.native(folder)
  const inside = join(real, '.server')
  if (!IS_WINDOWS && Buffer.byteLength(inside) <= MOST_BYTES) return inside
  const name = `local-v1-${createHash('sha256').update(real).digest('hex').slice(0, 32)}`
  return IS_WINDOWS ? `\\\\.\\pipe\\${name}` : join(tmpdir(), name)
}

/** On Windows it has gone with its process. */
function remove(path: string): void {
  if (!IS_WINDOWS) rmSync(path, { force: true })
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
