import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { tinyRepository, writeRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { PROGRAM } from './support/cli.js'
import { printed, type Running, start } from './support/spawn.js'

const CROWD = 1000
const LIMIT = '/proc/sys/net/core/somaxconn'

let folder: string | undefined
let server: Running | undefined
const sockets: Socket[] = []
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await server?.stop()
  if (folder) await rm(folder, { recursive: true })
})

/** Whether the system would hold so many for anybody. */
const holds = async () => Number(await readFile(LIMIT, 'utf8').catch(() => 0)) >= CROWD

test('whoever comes while a thousand connections wait to be taken is connected too', async ({ skip }) => {
  skip(!(await holds()), `${LIMIT} is below ${CROWD}, or this is not Linux`)
  folder = await mkdtemp(join(tmpdir(), 'local-v1-crowd-'))
  await writeRepository(tinyRepository(), folder)
  server = start(process.execPath, [PROGRAM, 'serve', '--model', folder, '--device', 'cpu', '--port', '0'])
  const port = Number(new URL(await printed(server, /url\s+(http:\S+)/)).port)
  // It takes none of them: what holds them is the system alone.
  process.kill(server.pid, 'SIGSTOP')
  try {
    await Promise.all(
      Array.from({ length: CROWD }, () => {
        const socket = connect(port, '127.0.0.1')
        sockets.push(socket)
        return new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
      }),
    )
    expect(sockets.every((socket) => !socket.connecting)).toBe(true)
  } finally {
    process.kill(server.pid, 'SIGCONT')
  }
})
