import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ownFolder } from '../../../../../test/support/own-folder.js'
import { type Hub, hub } from '../../hub.test-helper.js'
import { locationOf } from '../../location.js'
import { describeRepository, surveyRepository } from '../../open.js'
import { writeMadeUp } from './made-up.test-helper.js'

const MIB = 2 ** 20
const folder = ownFolder()
let server: Hub
beforeAll(async () => {
  const files = new Map<string, Buffer>()
  // Vocabularies of real models make heads of some megabytes.
  for (const [name, bytes] of [['small', 0] as const, ['large', 1.5 * MIB] as const]) {
    const path = join(folder, `${name}.gguf`)
    await writeMadeUp(path, { types: {}, metadata: (out) => out.text('made.up', 'x'.repeat(bytes)) })
    files.set(`${name}.gguf`, await readFile(path))
  }
  server = await hub(files)
})
afterAll(() => server.close())
beforeEach(() => {
  server.requests.length = 0
})

const options = { signal: new AbortController().signal, cache: false } as const
const place = (name: string) => locationOf(`${server.url}${name}.gguf`)
const ranges = () => server.requests.map(({ range }) => range)

describe('of a file at an address', () => {
  it.each([
    ['small', [`bytes=0-${MIB - 1}`]],
    ['large', [`bytes=0-${MIB - 1}`, `bytes=${MIB}-${4 * MIB - 1}`]],
  ])('no more is asked for than reaches the end of a %s head', async (name, expected) => {
    const { bytes, outline } = await surveyRepository(place(name), options)
    expect(ranges()).toEqual(expected)
    expect(outline.names).toContain('blk.1.ffn_down.weight')
    expect(bytes).toBeGreaterThan(4 * MIB)
  })

  it('64 KiB say what it is for', async () => {
    const { chatConfig } = await describeRepository(place('large'), options)
    expect(chatConfig).toMatchObject({ model_type: 'llama', embedding_length: 256 })
    expect(ranges()).toEqual([`bytes=0-${MIB / 16 - 1}`])
  })
})
