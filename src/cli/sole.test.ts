import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
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
