import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chatConfig, files } from '../src/engines/webllm/stand-in.test-helper.js'
import { bundle } from './support/bundle.js'
import { PROGRAM, SCHEMA } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { printed, type Running, start } from './support/spawn.js'
import { swiftshaderEnv } from './support/swiftshader.js'
import { canUnpack } from './support/unpack.js'

const folder = ownFolder()
const running: Running[] = []
const at = (name: string) => join(folder, name)

beforeAll(async () => {
  await writeFile(at('webllm.mjs'), await bundle('src/engines/webllm/library-entry.test-helper.ts'))
  await writeFile(at('mlc-chat-config.json'), JSON.stringify(chatConfig))
  await writeFile(at('tokenizer.json'), JSON.stringify(files.tokenizer))
  await writeFile(at('tokenizer_config.json'), JSON.stringify(files.tokenizerConfig))
  await writeFile(at('schema.json'), JSON.stringify(SCHEMA))
})
afterAll(() => Promise.all(running.map((process) => process.stop())))

async function cli(command: string, ...args: string[]): Promise<Running> {
  const env = canUnpack ? await swiftshaderEnv() : {}
  const process_ = start(process.execPath, [PROGRAM, command, '--engine', 'webllm', ...args], { NO_COLOR: '1', ...env })
  running.push(process_)
  return process_
}

/** A model in a folder, a compiled library that the stand-in never opens, and the stand-in for WebLLM. */
const own = () => ['--model', folder, '--lib', at('schema.json'), '--webllm', at('webllm.mjs')]

describe('local-v1 --engine webllm', () => {
  it.each([
    [[], /Name a WebLLM model with --model/],
    [['--model', 'a/b', '--device', 'cpu'], /runs on a GPU/],
    [['--model', 'a/b', '--model', 'c/d', '--lib', 'x.wasm'], /needs exactly one --model/],
    [['--model', 'a/b', '--lib', '/nowhere.wasm'], /\/nowhere.wasm does not exist/],
  ])('is asked the wrong way: %j', async (args, message) => {
    const process_ = await cli('chat', ...args, 'Hello')
    expect((await process_.exit).code).toBe(2)
    expect(process_.output()).toMatch(message)
  })

  it.skipIf(!canUnpack)('answers once, as the schema says, and ends', async () => {
    const process_ = await cli('chat', ...own(), '--schema', at('schema.json'), '--max-tokens', '60', 'Hello')
    const { code } = await process_.exit
    expect(code, process_.output()).toBe(0)
    const [json] = /\{.*\}/.exec(process_.output())!
    expect(Object.keys(JSON.parse(json))).toEqual(['word', 'kind'])
  })

  it.skipIf(!canUnpack)('serves, and stops when it is told to', async () => {
    const process_ = await cli('serve', ...own(), '--port', '0')
    const url = await printed(process_, /url\s+(http:\S+)/)
    const client = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0 })
    const [model] = (await client.models.list()).data
    const answer = await client.chat.completions.create({
      model: model!.id,
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 5,
    })
    expect(answer.usage!.completion_tokens).toBeGreaterThan(0)
    expect(process_.output()).toMatch(/device\s+webgpu \(SwiftShader/i)
    await process_.stop('SIGTERM')
    expect((await process_.exit).code).toBe(0)
  })
})
