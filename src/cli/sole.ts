import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
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

/** A server that says whose a folder is, and what it is called there: undefined where it is not in the folder itself. */
interface Claim {
  readonly name: string | undefined
  leave(): void
}

/**
 * Refuses a folder that another server has, since each would write over what the other one adds. A socket in it answers
 * for as long as its process lives, however that ends. What it returns is to be called before each writing: a folder that
 * was made anew has no such socket, or that of another.
 */
export async function claimFolder(folder: string): Promise<() => Promise<void>> {
  let claim = await claimOf(folder)
  let again: Promise<void> | undefined
  const renewed = async () => {
    claim.leave()
    try {
      claim = await claimOf(folder)
    } finally {
      again = undefined
    }
  }
  return async () => {
    if (claim.name === undefined || existsSync(join(folder, claim.name))) return
    again ??= renewed()
    await again
  }
}

async function claimOf(folder: string): Promise<Claim> {
  // It may have other names.
  const real = realpathSync.native(folder)
  const server = createServer((socket) => socket.destroy()).unref()
  const claim = await (process.platform === 'win32' ? pipeOf(real, server) : socketIn(real, server))
  if (claim) return claim
  server.close()
  const what = `The folder ${folder} of --responses is used by another local-v1 that runs.`
  throw new Fault(`${what} Give each its own, or end the other one first.`, 1)
}

/** A folder has no sockets there, and a pipe goes with its process. */
async function pipeOf(folder: string, server: Server): Promise<Claim | undefined> {
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 32)
  const taken = (await listened(server, `\\\\.\\pipe\\local-v1-${hash}`)) === 'EADDRINUSE'
  return taken ? undefined : { name: undefined, leave: () => server.close() }
}

/** Each has a socket of its own, which nobody else takes away, and has the folder once it sees no other that lives. */
async function socketIn(folder: string, server: Server): Promise<Claim | undefined> {
  const short = Buffer.byteLength(folder) > MOST_BYTES ? linkTo(folder) : folder
  const id = randomBytes(6).toString('hex')
  let name = COMING + id
  const leave = () => {
    process.off('exit', leave)
    remove(join(folder, name))
    server.close()
  }
  process.once('exit', leave)
  try {
    // A file system may have no sockets.
    if ((await listened(server, join(short, name))) !== undefined) return { name: undefined, leave }
    for (const until = performance.now() + TOGETHER_MS; ; await setTimeout(20)) {
      const others = await othersIn(short, name)
      if (others.length === 0) break
      // Of those that start together, the first by its name waits for the others to leave.
      if (performance.now() > until || others.some((other) => other.startsWith(THERE) || other < name)) {
        leave()
        return undefined
      }
    }
    renameSync(join(folder, name), join(folder, THERE + id))
    name = THERE + id
    return { name, leave }
  } finally {
    if (short !== folder) rmSync(dirname(short), { recursive: true })
  }
}

/** Nobody listens. Whoever may not be asked, or is asked by too many, lives. */
const DEAD: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOTSOCK'])

/** Those that live; what killed ones have left is taken away. */
async function othersIn(folder: string, own: string): Promise<string[]> {
  const others: string[] = []
  for (const name of readdirSync(folder)) {
    if (name === own || !(name.startsWith(COMING) || name.startsWith(THERE))) continue
    const failure = await connected(join(folder, name))
    // It has another name by now, or is gone.
    if (failure === 'ENOENT') return othersIn(folder, own)
    if (failure !== undefined && DEAD.has(failure)) remove(join(folder, name))
    else others.push(name)
  }
  return others
}

/** Where it may not be taken away it says nothing all the same. */
function remove(socket: string): void {
  try {
    rmSync(socket, { force: true })
  } catch {}
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
