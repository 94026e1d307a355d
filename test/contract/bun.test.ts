import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { contract } from '../contract.js'
import { bundle } from '../support/bundle.js'
import { start } from '../support/spawn.js'
import { type Reach, reachThrough } from './reach.js'
import { authorized, BASE, pause } from './speak.js'

/** It is no dependency of this repository: 90 MB that most who build it have no use for. */
const { BUN } = process.env

async function reachBun(): Promise<Reach> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-bun-'))
  const file = join(folder, 'main.mjs')
  await writeFile(file, await bundle('test/contract/bun-server.ts'))
  const bun = start(BUN!, [file])
  const [, port] = await bun.line(/^listening on (\d+)$/)
  return reachThrough(fetch, `http://127.0.0.1:${port}`, async () => {
    await bun.stop()
    await rm(folder, { recursive: true, force: true })
  })
}

contract('Bun.serve (where BUN names the program)', reachBun, { available: BUN !== undefined })

describe.skipIf(BUN === undefined)('Bun.serve, which ends what is silent (where BUN names the program)', () => {
  it('leaves open a stream whose model thinks for longer', async () => {
    const reach = await reachBun()
    onTestFinished(() => reach.close())
    const headers = { ...authorized, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'test/thinking', input: 'Hello?', background: true, stream: true })
    const answer = await reach.open(`${BASE}/responses`, { method: 'POST', headers, body })
    const silence = async (): Promise<string> => {
      for (;;) if ((await answer.read()) === undefined) return 'ended'
    }
    const ended = silence().catch(() => 'cut')
    // Ten seconds are its default, and it looks every four.
    expect(await Promise.race([ended, pause(15_000).then(() => 'open')])).toBe('open')
    answer.leave()
  })
})
