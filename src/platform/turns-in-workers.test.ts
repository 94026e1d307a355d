import { beforeAll, expect, it, vi } from 'vitest'
import { breathe, Entrance, inTurns, mapped } from './turns.js'

// How turns are waited for is settled with the first.
beforeAll(async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  // What was begun by a request that is over.
  vi.stubGlobal('setImmediate', () => {})
  vi.stubGlobal('MessageChannel', undefined)
  await breathe()
  vi.unstubAllGlobals()
})

it('in a Cloudflare Worker it waits for nothing that ends with a request', async () => {
  const doubled = mapped([1, 2], (n) => 2 * n)
  expect(await inTurns(doubled, undefined)).toEqual([2, 4])
  const entrance = new Entrance(1)
  for (let turn = 0; turn < 3; turn++) await entrance.enter('caller')
})
