import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, get } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ollama } from 'ollama'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tinyRepository, writeRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { writeMadeUp } from '../src/models/files/formats/gguf/made-up.test-helper.js'
import { bge, MARKS } from './oracles/encoders/bert.js'
import { wordsTokenizer, writeEncoder } from './oracles/files/repository.js'
import { PROGRAM, SCHEMA } from './support/cli.js'
import { FULL } from './support/full.js'
import { ownFolder } from './support/own-folder.js'
import { printed, type Running, start } from './support/spawn.js'

const folder = ownFolder()
let model: string
/** Its name, where it is served. */
const TINY = 'local/tiny'
const running: Running[] = []

beforeAll(async () => {
  model = join(folder, 'tiny')
  await writeRepository(tinyRepository(), model)
})
afterAll(() => Promise.all(running.map((process) => process.stop())))

function cli(...args: string[]): Running {
  const process_ = start(process.execPath, [PROGRAM, ...args], { NO_COLOR: '1' })
  running.push(process_)
  return process_
}

/** Runs to its end. */
async function ended(...args: string[]): Promise<{ code: number | null; output: string }> {
  const process_ = cli(...args)
  const { code } = await process_.exit
  return { code, output: process_.output() }
}

/** A server that listens; `url` ends with `/v1`. */
async function served(...args: string[]): Promise<{ process: Running; url: string }> {
  const process_ = cli('serve', '--model', model, '--device', 'cpu', '--port', '0', ...args)
  const url = await printed(process_, /url\s+(http:\S+)/)
  return { process: process_, url }
}

describe('local-v1', () => {
  it.each([['--help'], ['serve', '--help'], ['chat', '--help'], ['bench', '--help'], ['models', '--help']])(
    'explains itself: %s %s',
    async (...args) => {
      const { code, output } = await ended(...args.filter(Boolean))
      expect(code).toBe(0)
      expect(output).toContain('Usage: local-v1')
      if (args.length > 1) expect(output).toContain('Examples:')
    },
  )

  it.each([
    [['servr'], /Did you mean serve/],
    [['serve', '--port', 'x'], /whole number from 0 to 65535/],
    [['serve', '--device', 'tpu'], /auto, webgpu, cpu/],
    [['serve', '--host', '0.0.0.0'], /Without a key only this machine may send requests/],
    [['serve', '--model', 'no model'], /is no model/],
    [['serve', '--key', ''], /is empty: is the variable set/],
    [['serve', '--host', ''], /is empty: is the variable set/],
    [['serve', '--port', ''], /whole number from 0 to 65535/],
    [['models', '--cache', ''], /is empty: is the variable set/],
    [['serve', '--key', 'two words'], /--key has a key that no header can carry/],
    [['serve', '--key-file', '/no/such/file'], /--key-file \/no\/such\/file cannot be read/],
    [['serve', '--cors', 'app.example'], /must be an origin/],
    [['chat', '--temperature', 'hot', 'x'], /a number from 0 to 2/],
    [['chat', '--schema', '/nowhere.json', 'x'], /\/nowhere.json cannot be read/],
    [['bench', '--batch', '1,0'], /whole number from 1 to 64/],
    [['bench', '--model', 'made-up/nothing'], /there are made-up\//],
    [['models', 'remove', '../../etc'], /not a Hugging Face id/],
    [['models', 'remove'], /Name the model to remove/],
    [['models', 'remove', '--least-used', 'much'], /must be a size, like 500MB/],
  ])('is asked the wrong way by %j, and ends with 2', async (args, message) => {
    const { code, output } = await ended(...args)
    expect(output).toMatch(message)
    expect(code).toBe(2)
  })

  it.each([['chat'], ['serve', '--port', '0']])(
    '%s fails with 1 and names the file where a model lacks one',
    async (...args) => {
      const { code, output } = await ended(...args, '--model', join(folder, 'nothing'), '--device', 'cpu')
      expect(output).toContain('mlc-chat-config.json')
      expect(output).not.toContain('    at ')
      expect(code).toBe(1)
    },
  )

  it('says that a port is taken', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    const { code, output } = await ended('serve', '--model', model, '--port', String(port))
    taken.close()
    expect(output).toContain(`Port ${port} is taken`)
    expect(code).toBe(1)
  })

  it('says that its usage file cannot be written', async () => {
    const file = join(folder, 'nowhere', 'usage.jsonl')
    const { code, output } = await ended('serve', '--model', model, '--port', '0', '--usage-file', file)
    expect(output).toMatch(/usage file .*usage\.jsonl cannot be written: ENOENT/)
    expect(output).not.toContain('listens')
    expect(code).toBe(1)
  })

  it.each([
    [
      ['--responses', fileURLToPath(import.meta.url)],
      /folder .*cli\.test\.ts of --responses cannot be written: EEXIST/,
      1,
    ],
    [
      ['--alias', 'gpt-4o=local-v1/nothing'],
      /--alias gpt-4o=local-v1\/nothing: there is no model "local-v1\/nothing"/,
      2,
    ],
  ])('says at the start what it could do nothing with: %j', async (args, message, status) => {
    const { code, output } = await ended('serve', '--model', 'local-v1/nano', '--port', '0', ...args)
    expect(output).toMatch(message)
    expect(output).not.toContain('listens')
    expect(code).toBe(status)
  })

  it('says in a line that its output cannot be written', async () => {
    // Only Linux has a device that is always full.
    if (process.platform !== 'linux') return
    const command = ['-c', 'exec "$0" "$@" > /dev/full', process.execPath, PROGRAM, 'models', 'list']
    const each = start('bash', command, { NO_COLOR: '1' })
    expect((await each.exit).code).toBe(1)
    expect(each.output()).toMatch(/^error: The output cannot be written: ENOSPC[^\n]*\n$/)
  })

  it('chats: JSON by a schema on stdout, everything else beside it', async () => {
    const schema = join(folder, 'schema.json')
    await writeFile(schema, JSON.stringify(SCHEMA))
    const process_ = cli('chat', '--model', model, '--device', 'cpu', '--schema', schema, 'Say something.')
    const [line] = await process_.line(/^\{.*\}$/)
    const { word, kind } = JSON.parse(line) as { word: string; kind: string }
    expect([...word].length).toBeLessThanOrEqual(8)
    expect(['a', 'b']).toContain(kind)
    expect((await process_.exit).code).toBe(0)
  })
})

describe('local-v1 models of other programs', () => {
  it('are listed and verified where they lie', async () => {
    const store = join(folder, 'ollama')
    const path = join(folder, 'made-up.gguf')
    await writeMadeUp(path, { types: {} })
    const bytes = await readFile(path)
    const hash = createHash('sha256').update(bytes).digest('hex')
    const layer = { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${hash}`, size: bytes.length }
    const manifests = join(store, 'manifests/registry.ollama.ai/library/made-up')
    await mkdir(manifests, { recursive: true })
    await mkdir(join(store, 'blobs'))
    await writeFile(join(manifests, '1b'), JSON.stringify({ layers: [layer] }))
    await writeFile(join(store, 'blobs', `sha256-${hash}`), bytes)
    const runModels = async (...args: string[]) => {
      const process_ = start(process.execPath, [PROGRAM, 'models', ...args, '--cache', join(folder, 'none')], {
        ...{ NO_COLOR: '1', HOME: folder, OLLAMA_MODELS: store, HF_HUB_CACHE: join(folder, 'none') },
      })
      running.push(process_)
      const { code } = await process_.exit
      return { code, output: process_.output() }
    }
    expect((await runModels('list')).output).toMatch(/^ollama:made-up:1b +[\d.]+ MB +in Ollama$/m)
    expect(await runModels('verify')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/ok {2}ollama:made-up:1b .* has the right SHA-256/),
    })
    await truncate(join(store, 'blobs', `sha256-${hash}`), 70_000)
    expect((await runModels('list')).output).toMatch(/ollama:made-up:1b .* is incomplete: it has 70000 bytes/)
    expect(await runModels('verify', 'ollama:made-up:1b')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/BAD .* is incomplete/),
    })
  })
})

describe('local-v1 models pull', () => {
  it('says what it waits for and why it failed, and leaves nothing behind', async () => {
    const busy = createHttpServer((_request, response) => response.writeHead(503, { 'retry-after': '0.01' }).end())
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
    const { port } = busy.address() as { port: number }
    // The hub is asked at another address: nothing else can make it fail at will.
    const elsewhere = `const { fetch } = globalThis; globalThis.fetch = (url, init) => fetch(String(url).replace('https://huggingface.co', 'http://127.0.0.1:${port}'), init)`
    const cache = join(folder, 'pulled')
    const process_ = start(process.execPath, [PROGRAM, 'models', 'pull', 'a/b', '--cache', cache], {
      NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(elsewhere)}"`,
    })
    running.push(process_)
    const { code } = await process_.exit
    busy.close()
    const output = process_.output()
    expect(code, output).toBe(1)
    expect(output.match(/the server answered 503\. Trying again in 0\.0 s\./g)).toHaveLength(4)
    expect(output).toMatch(/error: .*cannot be fetched now: mlc-chat-config\.json: the server answered 503/)
    expect((await ended('models', 'list', '--cache', cache)).output).not.toContain('a/b')
    await expect(readdir(cache)).rejects.toThrow('ENOENT')
  })
})

describe('local-v1 bench', () => {
  it('measures a model, prints a table, and writes every value and a chart', async () => {
    const [json, svg] = [join(folder, 'bench.json'), join(folder, 'bench.svg')]
    // Strict JSON is measured below, and every part of it in bench/runtimes.test.ts.
    const what = [
      '--quick',
      '--rounds',
      '1',
      '--json',
      json,
      '--svg',
      svg,
      ...(FULL ? [] : ['--only', 'prompt,decode']),
    ]
    const { code, output } = await ended('bench', '--model', model, '--device', 'cpu', ...what)
    expect(code, output).toBe(0)
    expect(output).toContain(FULL ? 'strict JSON' : 'decode 32')
    const report = JSON.parse(await readFile(json, 'utf8')) as { kind: string; series: { values: number[] }[] }
    expect(report.kind).toBe('local-v1 bench')
    expect(report.series.flatMap(({ values }) => values).every(Number.isFinite)).toBe(true)
    expect(await readFile(svg, 'utf8')).toMatch(/^<svg[\s\S]+<\/svg>\n$/)
  })

  it('serves an encoder, and says how to ask it', async () => {
    const encoder = join(folder, 'encoder')
    await writeEncoder(bge, encoder, wordsTokenizer(bge, MARKS))
    const process_ = cli('serve', '--model', encoder, '--device', 'cpu', '--port', '0')
    const command = await printed(process_, /try\s+(curl .*)/)
    expect(command).toContain('/embeddings ')
    const { stdout } = await promisify(execFile)('bash', ['-c', `${command} -s`])
    expect(JSON.parse(stdout)).toMatchObject({ object: 'list', data: [{ embedding: expect.any(Array) }] })
    await process_.stop('SIGTERM')
  })

  it('measures another /v1 beside it, over HTTP', async () => {
    const { process: server, url } = await served()
    const json = join(folder, 'beside.json')
    const little = ['--quick', '--rounds', '1', '--batch', '1']
    const what = ['--only', 'prompt,json,v1', ...little, '--upstream', url, '--json', json]
    const { code, output } = await ended('bench', '--model', model, '--device', 'cpu', ...what)
    expect(code, output).toBe(0)
    expect(output).toContain('strict JSON')
    const report = JSON.parse(await readFile(json, 'utf8')) as {
      series: { subject: string; metric: string; median: number }[]
    }
    const metrics = (name: string) =>
      report.series.filter(({ subject }) => subject === name).map(({ metric }) => metric)
    expect(metrics('upstream')).toEqual(expect.arrayContaining(['first-token', 'prefill', 'json-strict', 'json-valid']))
    // What is behind a wire has no bare engine, and no grammar that could be asked.
    for (const metric of ['through-v1', 'json-mask']) {
      expect(metrics('upstream')).not.toContain(metric)
      expect(metrics('local-v1')).toContain(metric)
    }
    for (const { metric, median } of report.series) if (metric === 'json-valid') expect(median).toBe(100)
    await server.stop('SIGTERM')
  })

  it.each([
    [['--upstream', 'http://127.0.0.1:1/v1'], /cannot be reached/],
    [['--only', 'speed'], /Choose from prompt, decode, json, v1/],
  ])('says what is wrong with %j', async (options, message) => {
    const { code, output } = await ended('bench', '--model', model, '--device', 'cpu', ...options)
    expect(output).toMatch(message)
    expect(code).not.toBe(0)
  })

  it('says where a file cannot be written', async () => {
    const where = ['--json', join(folder, 'nowhere', 'x.json')]
    const { code, output } = await ended('bench', '--model', model, '--device', 'cpu', '--quick', ...where)
    expect(output).toContain('cannot be written')
    expect(code).toBe(1)
  })
})

describe('local-v1 serve', () => {
  it('asks for its key, serves the official client and keeps the ledger', async () => {
    const ledger = join(folder, 'usage.jsonl')
    const file = join(folder, 'keys.txt')
    await writeFile(file, '# of this machine\nfrom-file\r\n\nand-another\n')
    const keys = ['--key', 'one', '--key', 'two', '--key-file', file]
    const { process: server, url } = await served(...keys, '--usage-file', ledger)
    const stranger = new OpenAI({ baseURL: url, apiKey: 'three', maxRetries: 0 })
    await expect(stranger.models.list()).rejects.toMatchObject({ status: 401 })
    const client = new OpenAI({ baseURL: url, apiKey: 'two' })
    const [listed] = (await client.models.list()).data
    const completion = await client.chat.completions.create({
      model: listed!.id,
      messages: [{ role: 'user', content: 'Say something.' }],
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: SCHEMA } },
    })
    expect(JSON.parse(completion.choices[0]!.message.content!)).toHaveProperty('word')
    expect(JSON.parse((await readFile(ledger, 'utf8')).trim())).toMatchObject({ model: listed!.id, outcome: 'ok' })
    expect(server.output()).not.toContain('two')
    // Those of a file are seen by no other user of the machine.
    const status = async (key: string) =>
      (await fetch(`${url}/models`, { headers: { authorization: `Bearer ${key}` } })).status
    expect(await Promise.all(['from-file', 'and-another', '# of this machine', 'from-env'].map(status))).toEqual([
      200, 200, 401, 401,
    ])
    await server.stop('SIGTERM')
    expect((await server.exit).code).toBe(0)
  })

  /** Whether a second response goes on from the first, which is kept then. */
  async function expectStored(url: string, kept: boolean): Promise<void> {
    const client = new OpenAI({ baseURL: url, apiKey: 'none' })
    const create = (input: string, previous_response_id?: string) =>
      client.responses.create({ model: TINY, input, max_output_tokens: 16, previous_response_id })
    const first = await create('Hi')
    const second = create('And?', first.id)
    if (kept) {
      expect((await second).previous_response_id).toBe(first.id)
      expect((await client.responses.retrieve(first.id)).id).toBe(first.id)
    } else await expect(second).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' })
    const response = await fetch(`${url}/models`)
    expect(response.headers.get('keep-alive')).toBe('timeout=75')
  }

  it.each([
    [[], true],
    [['--no-responses'], false],
  ] as const)('stores responses by default, as OpenAI does: %j', async (args, kept) => {
    const { process: server, url } = await served(...args)
    await expectStored(url, kept)
    await server.stop('SIGTERM')
  })

  // A start takes longer than all that is asked below: these options have nothing to do with each other, and one server.
  describe('with options', () => {
    let server: Running
    let url: string
    let where: string
    beforeAll(async () => {
      where = join(folder, 'responses')
      const args = ['--responses', where, '--ollama', '--alias', `claude=${TINY}`, '--allow-host', 'api.example']
      ;({ process: server, url } = await served(...args, '--grace', '60'))
    })

    it('stores responses in a folder, with --responses', async () => {
      await expectStored(url, true)
      // Beside what says whose folder it is.
      expect((await readdir(where)).filter((name) => !name.startsWith('.server'))).toHaveLength(2)
    })

    it('answers clients of Ollama as they come, with --ollama', async () => {
      const client = new Ollama({ host: url.replace(/\/v1$/, '') })
      const model = `${TINY}:latest`
      expect((await client.list()).models.map(({ name }) => name)).toContain(model)
      const { message } = await client.chat({
        ...{ model, messages: [{ role: 'user', content: 'Please send 12 desk lamps.' }], format: SCHEMA },
        options: { temperature: 0 },
      })
      expect(JSON.parse(message.content)).toEqual(expect.any(Object))
      expect((await client.ps()).models.map(({ name }) => name)).toContain(model)
      const unloaded = await client.generate({ model, prompt: '', keep_alive: 0 })
      expect(unloaded.done_reason).toBe('unload')
      expect((await client.ps()).models.map(({ name }) => name)).not.toContain(model)
    })

    it('offers models under other names, and by Anthropic’s interface', async () => {
      const messages = [{ role: 'user', content: 'Hi' }]
      const answer = await fetch(`${url}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': 'none', 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({ model: 'claude', max_tokens: 4, temperature: 0, messages }),
      })
      expect(await answer.json()).toMatchObject({ type: 'message', model: TINY, stop_reason: 'max_tokens' })
    })

    it('is reached by the names it was given', async () => {
      const { port } = new URL(url)
      const status = (host: string) =>
        new Promise<number | undefined>((resolve, reject) => {
          const request = get({ port, path: '/v1/models', headers: { host } }, ({ statusCode }) => resolve(statusCode))
          request.on('error', reject)
        })
      expect(await Promise.all(['api.example', `localhost:${port}`, 'evil.example'].map(status))).toEqual([
        200, 200, 403,
      ])
      // Said once: a page that is turned away cannot read why.
      await printed(server, /(evil\.example.* Add it to --allow-host)/)
      expect(await status('evil.example')).toBe(403)
      expect(server.output().match(/evil\.example.* Add it to --allow-host/g)).toHaveLength(1)
    })

    it('lets a running stream end before it ends itself', async () => {
      const client = new OpenAI({ baseURL: url, apiKey: 'none', maxRetries: 0 })
      const stream = await client.chat.completions.create({
        model: TINY,
        messages: [{ role: 'user', content: 'Say something long.' }],
        max_tokens: 300,
        logit_bias: {},
        stream: true,
      })
      let finish: string | null | undefined
      let first = true
      for await (const chunk of stream) {
        if (first) void server.stop('SIGTERM')
        first = false
        finish = chunk.choices[0]?.finish_reason ?? finish
      }
      expect(finish).toMatch(/stop|length/)
      expect((await server.exit).code).toBe(0)
    })
  })
})
