import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { writeMadeUp } from '../src/models/files/formats/gguf/made-up.test-helper.js'
import { hub } from '../src/models/files/hub.test-helper.js'
import { PROGRAM } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { start } from './support/spawn.js'

const folder = ownFolder()

it('local-v1 models fits says what a model would take, and of one that cannot run why', async () => {
  const [good, bad] = [join(folder, 'good.gguf'), join(folder, 'bad.gguf')]
  await writeMadeUp(good, { types: { '*': 'Q8_0' } })
  await writeFile(bad, 'no model')
  const args = ['models', 'fits', good, bad, '--device', 'cpu', '--context', '128']
  const program = start(process.execPath, [PROGRAM, ...args], { NO_COLOR: '1' })
  const { code } = await program.exit
  const output = program.output()
  expect(output).toMatch(/yes {2}\S+good\.gguf {2}nothing to download, .+ of memory .* at a context of 128/)
  expect(output).toMatch(/no {3}\S+bad\.gguf {2}.*bad\.gguf is /)
  expect(code).toBe(1)
})

it('local-v1 models fits tells of a file at an address by its head alone', async () => {
  const path = join(folder, 'plain.gguf')
  await writeMadeUp(path, { types: { '*': 'F32' } })
  const bytes = await readFile(path)
  const server = await hub(new Map([['plain.gguf', bytes]]))
  const args = ['models', 'fits', `${server.url}plain.gguf`, '--device', 'cpu', '--cache', join(folder, 'cache')]
  const program = start(process.execPath, [PROGRAM, ...args], { NO_COLOR: '1' })
  expect((await program.exit).code).toBe(0)
  const size = (bytes.length / 1e6).toFixed(1)
  expect(program.output()).toContain(`plain.gguf  ${size} MB to download, `)
  expect(program.output()).toMatch(/ of memory \(weights .+ at a context of 512, about [\d.]+ tokens\/s/)
  expect(server.requests.map(({ range }) => range)).toEqual([`bytes=0-${2 ** 20 - 1}`])
  expect(bytes.length).toBeGreaterThan(4 * 2 ** 20)
  await server.close()
})

it('local-v1 models knows the embedded model by its name, and looks for it nowhere else', async () => {
  const models = async (...args: string[]) => {
    const program = start(process.execPath, [PROGRAM, 'models', ...args, '--cache', join(folder, 'none')])
    return { code: (await program.exit).code, output: program.output() }
  }
  const fits = await models('fits', 'local-v1/nano', '--device', 'cpu', '--context', '128')
  expect(fits.output).toMatch(/yes {2}local-v1\/nano {2}nothing to download, .+ at a context of 128/)
  expect(fits.code).toBe(0)
  const all = await models('fits', '--device', 'cpu', '--context', '128')
  expect(all.output).toMatch(/^yes {2}local-v1\/nano {2}nothing/m)
  const verified = await models('verify', 'local-v1/nano')
  expect(verified.output).toMatch(/^ok {2}local-v1\/nano /m)
  expect((await models('verify')).output).toMatch(/^ok {2}local-v1\/nano /m)
  expect(verified.code).toBe(0)
  expect((await models('pull', 'local-v1/nano')).output).toMatch(/not a model of Hugging Face/)
  expect((await models('remove', 'local-v1/nano')).output).toMatch(/comes with the package local-v1-nano/)
})

it('local-v1 models fits counts an 8-bit cache at 17 of 32 bytes of one in f16, a 4-bit one at 9', async () => {
  const nano = fileURLToPath(new URL('../models/nano', import.meta.url))
  const cache = async (...more: string[]) => {
    const args = ['models', 'fits', nano, '--device', 'cpu', '--context', '4096', ...more]
    const program = start(process.execPath, [PROGRAM, ...args], { NO_COLOR: '1' })
    expect((await program.exit).code).toBe(0)
    expect(program.output()).toMatch(/about \d+ tokens\/s/)
    return Number(/cache (\d+) MB/.exec(program.output())?.[1])
  }
  const whole = await cache('--cache-type', 'f16')
  expect((await cache('--cache-type', 'q8_0')) / whole).toBeCloseTo(17 / 32, 1)
  expect((await cache('--cache-type', 'q4_0')) / whole).toBeCloseTo(9 / 32, 1)
  // There is room for either before it is asked.
  expect(await cache('--cache-type', 'auto')).toBe(whole)
})

it('local-v1 serve refuses an 8-bit cache of WebLLM by its name', async () => {
  const asked = 'serve --engine webllm --model Qwen3-0.6B-q4f16_1-MLC --cache-type q8_0 --port 0'
  const program = start(process.execPath, [PROGRAM, ...asked.split(' ')], { NO_COLOR: '1' })
  expect((await program.exit).code).toBe(2)
  expect(program.output()).toMatch(/--cache-type only works with --engine webgpu/)
})
