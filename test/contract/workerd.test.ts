import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { express } from '../../adapters/express.js'
import { createV1 } from '../../src/index.js'
import { bundle } from '../support/bundle.js'
import { type Listening, listen } from '../support/serve.js'
import { type Running, start } from '../support/spawn.js'
import { type ScenarioEngine, scenarioEngine } from './scenario.js'
import { scenario } from './scripts.js'
import { until } from './speak.js'

/** It is no dependency of this repository: 120 MB that most who build it have no use for. */
const { WORKERD } = process.env

const config = (flags: string, behind: string) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "main.mjs", esModule = embed "main.mjs")],
  bindings = [(name = "BEHIND", text = "${behind}")],
  compatibilityDate = "2025-05-05",
  compatibilityFlags = [${flags}],
);`

// Cloudflare's own template has Node's functions; without them others are missing.
describe.skipIf(WORKERD === undefined).each(['', '"nodejs_compat"'])(
  'workerd [%s] (where WORKERD names it)',
  (flags) => {
    let folder: string
    let workerd: Running
    let behind: Listening
    let engine: ScenarioEngine
    let client: OpenAI
    let origin: string

    beforeAll(async () => {
      engine = scenarioEngine(scenario)
      behind = await listen(express(createV1({ engine, keys: 'none', log: () => {} })))
      folder = await mkdtemp(join(tmpdir(), 'local-v1-workerd-'))
      await writeFile(join(folder, 'main.mjs'), await bundle('test/contract/workerd-entry.ts'))
      await writeFile(join(folder, 'config.capnp'), config(flags, `http://127.0.0.1:${behind.port}/v1`))
      workerd = start(WORKERD!, ['serve', join(folder, 'config.capnp'), '--control-fd=1'])
      const [, port] = await workerd.line(/"listen".*"port": ?(\d+)/)
      origin = `http://127.0.0.1:${port}`
      client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'a-key', maxRetries: 0 })
    })
    afterAll(async () => {
      await workerd?.stop()
      await behind?.close()
      await rm(folder, { recursive: true, force: true })
    })

    const ask = (model = 'test/hello') => ({ model, messages: [{ role: 'user' as const, content: 'Hello?' }] })
    const whole = async () => (await client.chat.completions.create(ask())).choices[0]!.message.content
    const streamed = async () => {
      let text = ''
      for await (const { choices } of await client.chat.completions.create({ ...ask(), stream: true }))
        text += choices[0]?.delta.content ?? ''
      return text
    }

    test('request after request is answered, and many at once', async () => {
      for (let i = 0; i < 3; i++) expect([await whole(), await streamed()]).toEqual(Array(2).fill('Hello, wörld 🌍'))
      const many = Array.from({ length: 40 }, (_, i) => (i % 2 ? whole() : streamed()))
      expect(await Promise.all(many)).toEqual(Array(40).fill('Hello, wörld 🌍'))
    })

    test('who leaves in mid-stream takes nothing from the next', async () => {
      for (let i = 0; i < 12; i++) {
        const stream = await client.chat.completions.create({ ...ask('test/endless'), stream: true })
        for await (const _ of stream) break
      }
      expect(await whole()).toBe('Hello, wörld 🌍')
      await until(
        async () => engine.probe('test/endless'),
        ({ active }) => active === 0,
      )
    })

    test('a service that would be shared by requests is refused before the first, with what to do', async () => {
      expect(await (await fetch(`${origin}/early`)).text()).toMatch(/createV1: .*inside fetch/)
    })

    test('nano can be imported, and says what to use instead', async () => {
      expect(await (await fetch(`${origin}/nano`)).text()).toMatch(/^Error: local-v1-nano .*local-v1\/upstream/)
    })
  },
)
