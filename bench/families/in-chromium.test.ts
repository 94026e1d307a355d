import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ownFolder } from '../../test/support/own-folder.js'
import { chromiumSide } from './in-chromium.js'
import { FULL, writeFamily } from './models.js'

const folder = ownFolder()

it('a page reads a file of this disk, prompts, and writes behind them', async () => {
  const path = join(folder, 'model.gguf')
  const [{ sizes, ...family }] = FULL as [(typeof FULL)[number]]
  await writeFamily(path, { ...family, sizes: { ...sizes, layers: 1 }, vocabulary: 1024 }, 'Q4_0')
  const side = await chromiumSide(path, { threads: 2, context: 64 })
  try {
    expect(await side.read(40)).toBeGreaterThan(0)
    await side.fill(30)
    expect(await side.write(4)).toBeGreaterThan(0)
    // It stands behind 34 of 64 places: so many are not left, and the page says so.
    await expect(side.write(64)).rejects.toThrow(/\w/)
    await side.fill(8)
    expect(await side.write(4)).toBeGreaterThan(0)
  } finally {
    await side.close()
  }
})

it('says why a page cannot open a file', async () => {
  const path = join(folder, 'broken.gguf')
  await writeFile(path, 'GGUF and nothing else')
  await expect(chromiumSide(path, { threads: 1, context: 64 })).rejects.toThrow('broken.gguf')
})
