import { describe, expect, it } from 'vitest'
import { quantisationsOnHub } from './hub.js'

const listing = (files: Readonly<Record<string, number | undefined>>) => async (base: string, name: string) => {
  expect([base, name]).toEqual(['https://huggingface.co/api/models/org/m/tree/', 'main'])
  return JSON.stringify(Object.entries(files).map(([path, size]) => ({ path, size })))
}

describe('the quantisations of a repository at the hub', () => {
  it('are told with their bytes, of those in parts all together', async () => {
    const read = listing({
      'README.md': 9,
      'm-Q4_K_M.gguf': 100,
      'm-UD-Q4_K_XL.gguf': 120,
      'M.IQ4_XS.gguf': 80,
      'm-BF16-00001-of-00002.gguf': 300,
      'm-BF16-00002-of-00002.gguf': 200,
      'mmproj-F16.gguf': 50,
      'm-Q8_0.gguf': undefined,
      'm.gguf': 70,
    })
    expect(Object.fromEntries(await quantisationsOnHub('org/m', read))).toEqual({
      ...{ Q4_K_M: 100, 'UD-Q4_K_XL': 120, IQ4_XS: 80, BF16: 500 },
    })
  })

  it('are none where there is no list, and refused where it is none', async () => {
    expect((await quantisationsOnHub('org/m', async () => undefined)).size).toBe(0)
    await expect(quantisationsOnHub('org/m', async () => '{}')).rejects.toThrow('not a JSON list')
  })
})
