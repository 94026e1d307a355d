import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contract } from '../contract.js'
import { bundle } from '../support/bundle.js'
import { start } from '../support/spawn.js'
import { reachThrough } from './reach.js'

/** It is no dependency of this repository: 90 MB that most who build it have no use for. */
const { BUN } = process.env

contract(
  'Bun.serve (where BUN names the program)',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'local-v1-bun-'))
    const file = join(folder, 'main.mjs')
    await writeFile(file, await bundle('test/contract/bun-server.ts'))
    const bun = start(BUN!, [file])
    const [, port] = await bun.line(/^listening on (\d+)$/)
    return reachThrough(fetch, `http://127.0.0.1:${port}`, async () => {
      await bun.stop()
      await rm(folder, { recursive: true, force: true })
    })
  },
  { available: BUN !== undefined },
)
