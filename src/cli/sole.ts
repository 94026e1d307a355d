import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { Fault } from './fault.js'

/** Of a folder whose sockets have names that systems take: with what they are called, these may have a hundred bytes. */
const MOST_BYTES = 75

/** The longest that one waits for another that starts in the same moment. */
const TOGETHER_MS = 10_000

/** Of one that looks for others, and of one that has found none. */
const COMING = '.server-0-'
const THERE = '.server-1-'

/**
 * Refuses a folder that another server has, since each would write over what the other one adds. A socket in it answers
 * for as long as its process lives, however that ends.
 */
export async function claimFolder(folder: string): Promise<void> {
  // It may have other names.
  const real = realpathSync.native(folder)
  const server = createServer((socket) => socket.destroy()).unref()
  if (!(await (process.platform === 'win32' ? hasPipe(real, server) : hasSocket(real, server)))) {
    server.close()
    const what = `The folder ${folder} of --responses is used by another local-v1 that runs.`
    throw new Fault(`${what} Give each its own, or end the other one first.`, 1)
  }
}

/** A folder has no sockets there, and a pipe goes with its process. */
async function hasPipe(folder: string, server: Server): Promise<boolean> {
  const name = `local-v1-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}`
  return (await listened(server, `\\\\.\\pipe\\${name}`)) !== 'EADDRINUSE'
}

/** Each has a socket of its own, which nobody else takes away, and has the folder once it sees no other that lives. */
async function hasSocket(folder: string, server: Server): Promise<boolean> {
  const short = Buffer.byteLength(folder) > MOST_BYTES ? linkTo(folder) : folder
  const id = randomBytes(6).toString('hex')
  let own = COMING + id
  const remove = () => rmSync(join(folder, own), { force: true })
  process.once('exit', remove)
  try {
    // A file system may have no sockets.
    if ((await listened(server, join(short, own))) !== undefined) return true
    for (const until = performance.now() + TOGETHER_MS; ; await setTimeout(20)) {
      const others = await othersIn(short, own)
      if (others.length === 0) break
      // Of those that start together, the first by its name waits for the others to leave.
      if (performance.now() > until || others.some((name) => name.startsWith(THERE) || name < own)) {
        remove()
        return false
      }
    }
    renameSync(join(folder, own), join(folder, THERE + id))
    own = THERE + id
    return true
  } finally {
    if (short !== folder) rmSync(dirname(short), { recursive: true })
  }
}

/** Those that live; what killed ones have left is taken away. */
async function othersIn(folder: string, own: string): Promise<string[]> {
  const others: string[] = []
  for (const name of readdirSync(folder)) {
    if (name === own || !(name.startsWith(COMING) || name.startsWith(THERE))) continue
    const failure = await connected(join(folder, name))
    // It has another name by now, or is gone.
    if (failure === 'ENOENT') return othersIn(folder, own)
    if (failure === undefined) others.push(name)
    else rmSync(join(folder, name), { force: true })
  }
  return others
}

/** A short name of a folder whose path is too long. The socket is in the folder itself, where others look with theirs. */
function linkTo(folder: string): string {
  const link = join(mkdtempSync(join(tmpdir(), 'local-v1-')), 'folder')
  symlinkSync(folder, link)
  return link
}

/** Why not, or undefined. */
function listened(server: Server, path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
    server.listen(path, () => resolve(undefined))
  })
}

/** Why not, or undefined. */
function connected(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(undefined))
    socket.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => resolve(code))
    socket.once('connect', () => socket.destroy())
  })
}
