import { readFile } from 'node:fs/promises'
import { transform } from 'esbuild'
import { nano } from 'local-v1-nano'
import { expect, it } from 'vitest'
import { webgpu } from '../../src/engines/webgpu/index.js'

const source = new URL('../../models/nano/index.js', import.meta.url)

it('is where its module is', () => {
  expect(nano.from).toBe(new URL('./', source).href)
})

it('can be imported where no module knows its place, and says there why it is of no use', async () => {
  // As in a bundle of CommonJS, in which esbuild leaves `import.meta` empty.
  const { code } = await transform(await readFile(source, 'utf8'), { format: 'cjs', logLevel: 'silent' })
  const module = { exports: {} as { nano: typeof nano } }
  new Function('module', code)(module)
  expect(module.exports.nano.id).toBe('local-v1/nano')
  expect(() => webgpu({ models: [module.exports.nano] })).toThrow(
    /^local-v1-nano .*import\.meta\.url.*local-v1\/upstream/,
  )
})
