import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimFolder } from './sole.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sole-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** The socket of a process that was killed. */
async function leaveBehind(place: string): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(join(folder, 's'), resolve))
  await rename(join(folder, 's'), join(place, '.server-1-0123456789ab'))
  await new Promise((resolve) => server.close(resolve))
}

describe.skipIf(process.platform === 'win32')('of those that start in one moment, one has the folder', () => {
  it.each([
    ['an empty one', 'empty', false],
    ['one with what a killed one left', 'left', true],
    ['one with a long path', join('l'.repeat(120), 'left'), true],
  ])('%s', async (_, name, left) => {
    const place = join(folder, name)
    await mkdir(place, { recursive: true })
    if (left) await leaveBehind(place)
    const claims = await Promise.allSettled(Array.from({ length: 5 }, () => claimFolder(place)))
    expect(claims.map(({ status }) => status).sort()).toEqual(['fulfilled', ...Array(4).fill('rejected')])
    for (const claim of claims) {
      if (claim.status === 'rejected') expect(claim.reason.message).toMatch(/is used by another local-v1 that runs/)
    }
    await expect(claimFolder(place)).rejects.toThrow('is used by another')
    expect(await readdir(place)).toEqual([expect.stringMatching(/^\.server-1-/)])
  })
})

describe.skipIf(process.platform === 'win32')('a folder that was made anew while a server had it', () => {
  async function madeAnew(name: string) {
    const place = join(folder, name)
    await mkdir(place)
    const claim = await claimFolder(place)
    await claim()
    await rm(place, { recursive: true })
    await expect(claim()).rejects.toThrow('ENOENT')
    await mkdir(place)
    return { place, claim }
  }

  it('is its own again once it writes, however much it writes at once', async () => {
    const { place, claim } = await madeAnew('anew')
    await Promise.all([claim(), claim(), claim()])
    await expect(claimFolder(place)).rejects.toThrow('is used by another')
    expect(await readdir(place)).toEqual([expect.stringMatching(/^\.server-1-/)])
    await claim()
  })

  it('is no longer its own where another has come sooner', async () => {
    const { place, claim } = await madeAnew('taken')
    const other = await claimFolder(place)
    for (let i = 0; i < 2; i++) await expect(claim()).rejects.toThrow('is used by another')
    await other()
  })

  it('and moved away before may be had by others', async () => {
    const place = join(folder, 'moved')
    await mkdir(place)
    const claim = await claimFolder(place)
    await rename(place, `${place}-away`)
    await mkdir(place)
    await claim()
    await expect(claimFolder(`${place}-away`)).resolves.toBeDefined()
  })
})

/** Only root may become somebody who may not do everything. */
describe.skipIf(process.geteuid?.() !== 0)('a server of another user', () => {
  it('that may not be asked whether it lives is not taken for gone', async () => {
    const place = join(folder, 'theirs')
    await mkdir(place)
    await claimFolder(place)
    const [name] = await readdir(place)
    await Promise.all([chmod(folder, 0o755), chmod(place, 0o777), chmod(join(place, name!), 0o755)])
    process.seteuid!(65534)
    try {
      await expect(claimFolder(place)).rejects.toThrow('is used by another')
    } finally {
      process.seteuid!(0)
    }
    expect(await readdir(place)).toEqual([name])
  })
})
