import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasPeer, lack } from '../src/engines/llama-cpp/peer.test-helper.js'
import { writeMadeUp } from '../src/models/files/formats/gguf/made-up.test-helper.js'
import { PROGRAM, SCHEMA } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { printed, type Running, start } from './support/spawn.js'

const folder = ownFolder()
const running: Running[] = []
const at = (name: string) => join(folder, name)

beforeAll(async () => {
  const types = { '*': 'Q8_0' }
  await writeMadeUp(at('made-up.gguf'), { types, vocabulary: 'bpe' })
  await writeMadeUp(at('strange.gguf'), { types, metadata: (out) => out.text('general.architecture', 'nonsense') })
  await writeFile(at('schema.json'), JSON.stringify(SCHEMA))
})
afterAll(() => Promise.all(running.map((one) => one.stop())))

/** Started where the package lies, or where it does not. */
function cli(command: string, args: readonly string[], cwd = process.env.LOCAL_V1_PEERS ?? process.cwd()): Running {
  const one = start(process.execPath, [PROGRAM, command, '--engine', 'llama-cpp', ...args], { NO_COLOR: '1' }, { cwd })
  running.push(one)
  return one
}

describe('local-v1 --engine llama-cpp', () => {
  it.each([
    [[], /name one with --model/],
    [['--model', './x.gguf', '--device', 'webgpu'], /its own back ends/],
    [['--model', './x.gguf', '--cache-type', 'q8_0'], /--cache-type only works with --engine webgpu/],
    [['--model', './x.gguf', '--revectorize'], /--revectorize only works with --engine webgpu/],
    [['--model', './x.gguf', '--draft', 'what?'], /is no model/],
    [['--model', './x.gguf', '--lib', 'x.wasm'], /only work with --engine webllm/],
    [['--model', 'what?'], /is no model/],
  ])('is asked the wrong way: %j', async (args, message) => {
    const one = cli('chat', [...args, 'Hello'])
    expect((await one.exit).code).toBe(2)
    expect(one.output()).toMatch(message)
  })

  it.skipIf(hasPeer && process.env.LOCAL_V1_PEERS === undefined)('says what to install', async () => {
    const one = cli('chat', ['--model', at('made-up.gguf'), 'Hello'], folder)
    expect((await one.exit).code).toBe(1)
    expect(one.output()).toMatch(/error: .*npm install node-llama-cpp/)
  })

  it.skipIf(!hasPeer)(`answers once, as the schema says, and ends${lack}`, async () => {
    const files = ['--model', at('made-up.gguf'), '--draft', at('made-up.gguf')]
    const args = [...files, '--device', 'cpu', '--schema', at('schema.json')]
    const one = cli('chat', [...args, '--max-tokens', '60', 'Hello'])
    const { code } = await one.exit
    expect(code, one.output()).toBe(0)
    const [json] = /\{.*\}/.exec(one.output())!
    expect(Object.keys(JSON.parse(json))).toEqual(['word', 'kind'])
  })

  it.skipIf(!hasPeer)(`serves, and stops when it is told to${lack}`, async () => {
    const one = cli('serve', ['--model', at('made-up.gguf'), '--device', 'cpu', '--port', '0'])
    const url = await printed(one, /url\s+(http:\S+)/)
    const client = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0 })
    const [model] = (await client.models.list()).data
    const answer = await client.chat.completions.create({
      model: model!.id,
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 5,
      temperature: 0,
    })
    expect(answer.usage!.completion_tokens).toBeGreaterThan(0)
    expect(one.output()).toMatch(/device\s+cpu \(llama\.cpp/)
    await one.stop('SIGTERM')
    expect((await one.exit).code).toBe(0)
  })

  it.skipIf(!hasPeer)(`says why a file cannot be run, and ends${lack}`, async () => {
    const one = cli('serve', ['--model', at('strange.gguf'), '--device', 'cpu', '--port', '0'])
    expect((await one.exit).code).toBe(1)
    expect(one.output()).toMatch(/error: .*unknown model architecture: 'nonsense'/)
  })
})
