import { readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeGguf } from '../../../../../bench/peers/gguf.js'
import { ownFolder } from '../../../../../test/support/own-folder.js'
import { syntheticSource } from '../../../../bench/shapes.js'
import { openCpuDevice } from '../../../../device/cpu/index.js'
import { webgpu } from '../../../../engines/webgpu/index.js'
import { createV1 } from '../../../../index.js'
import { loadCore } from '../../../load.js'
import type { AttentionLayer } from '../../../model-plan.js'
import { planModel } from '../../../plan-model.js'
import { type Hub, hub, send } from '../../hub.test-helper.js'
import { locationOf } from '../../location.js'
import { type OpenOptions, openRepository } from '../../open.js'
import type { WeightSource } from '../../source.js'
import { type MadeUp, numberOf, partOf, SIZES, writeMadeUp } from './made-up.test-helper.js'
import { READABLE, typeOf } from './types.js'

const folder = ownFolder()

let count = 0
async function written(of: MadeUp): Promise<string> {
  const path = join(folder, `made-up-${count++}.gguf`)
  await writeMadeUp(path, of)
  return path
}

const options: OpenOptions = { report: () => {}, signal: new AbortController().signal, cache: false }
const open = (path: string, more: Partial<OpenOptions> = {}) =>
  openRepository(locationOf(path), { ...options, ...more })
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('it was not refused'),
    (error: Error) => error.message,
  )

/** What is drawn after each of some tokens, and how likely it was. */
async function answers(weights: WeightSource) {
  const device = await openCpuDevice({ threads: 1 })
  const core = await loadCore(device, weights, { contextLength: 64 })
  const sequence = core.open()
  const found = []
  for (let index = 0; index < 12; index++) {
    const sample = { temperature: 0, topP: 1, seed: 0, index, presencePenalty: 0, frequencyPenalty: 0, topLogprobs: 5 }
    found.push((await core.step([{ sequence, tokens: [260 + index, 3 * index], sample }]))[0])
  }
  await core.close()
  device.destroy()
  return found
}

describe('a model as GGUF', () => {
  it('answers exactly as the same model from an MLC repository', async () => {
    const shape = { hidden: 64, inner: 96, layers: 2, heads: 4, keyHeads: 2, headSize: 16, vocabulary: 320 }
    const mlc = syntheticSource(shape)
    const { path, remove } = await writeGguf('a/b', mlc, 128)
    const { weights } = await open(path)
    expect(await answers(weights)).toEqual(await answers(mlc))
    await remove()
  })

  it.each(READABLE)('%s reaches the decoder as it lies', async (label) => {
    const path = await written({ types: { '*': label } })
    const { weights } = await open(path)
    const name = 'blk.1.ffn_down'
    const file = await readFile(path)
    const { dtype, shape, data } = await weights.read(`${name}.weight`)
    expect(dtype).toBe(label.toLowerCase())
    expect(shape).toEqual([SIZES.hidden, SIZES.inner])
    const { block, bytes } = typeOf(numberOf(label))
    const size = ((SIZES.hidden * SIZES.inner) / block) * bytes
    const from = file.length - Math.ceil(size / 32) * 32
    expect(Buffer.from(data).equals(file.subarray(from, from + size))).toBe(true)
  })

  it('may mix types within a layer, and may lie in several files', async () => {
    const types = { '*': 'Q4_0', attn_v: 'Q6_K', ffn_up: 'F32', ffn_down: 'Q5_K', output: 'Q6_K' }
    const whole = (await open(await written({ types }))).weights
    const path = join(folder, 'split.gguf')
    await writeMadeUp(path, { types, parts: 3 })
    const parts = (await open(partOf(path, 0, 3))).weights
    expect([...parts.names].sort()).toEqual([...whole.names].sort())
    const typeOf = (name: string) => whole.describe(`blk.0.${name}.weight`).dtype
    expect(['attn_q', 'attn_v', 'ffn_gate', 'ffn_up'].map(typeOf)).toEqual(['q4_0', 'q6_k', 'q4_0', 'f32'])
    expect(await answers(parts)).toEqual(await answers(whole))
    await rm(partOf(path, 1, 3))
    expect(await refusal(open(partOf(path, 0, 3)))).toContain('split-00002-of-00003.gguf is missing')
  })

  it('is read in version 2 as in version 3', async () => {
    const of = async (version: 2 | 3) => {
      const path = await written({ types: { '*': 'Q8_0' }, version })
      expect((await readFile(path)).readUInt32LE(4)).toBe(version)
      return answers((await open(path)).weights)
    }
    expect(await of(2)).toEqual(await of(3))
  })

  it('divides angles as its file says', async () => {
    const factors = Float32Array.from({ length: SIZES.headSize / 2 }, (_, i) => 1 + i / 4)
    const device = await openCpuDevice({ threads: 1 })
    const angles = async (of: MadeUp) => {
      const { weights } = await open(await written(of))
      return (planModel(weights, device).model.layers[0] as AttentionLayer).angles
    }
    expect((await angles({ types: {} })).scaling).toBeUndefined()
    expect((await angles({ types: {}, factors })).scaling).toMatchObject({
      short: [...factors],
      long: [...factors],
      attention: 1,
    })
    device.destroy()
  })

  it('is served through /v1 from its path, with its own chat template', async () => {
    const chatTemplate = '{% for message in messages %}<s>{{ message.content }}</s>{% endfor %}'
    const path = await written({ types: { '*': 'Q4_K', attn_v: 'Q6_K' }, chatTemplate })
    const v1 = createV1({ engine: webgpu({ models: [path], device: 'cpu', threads: 1, log: () => {} }), keys: 'none' })
    const [, name] = path.match(/([^/]+)\.gguf$/)!
    const schema = {
      type: 'object',
      properties: { kalo: { enum: ['mi', 're'] } },
      required: ['kalo'],
      additionalProperties: false,
    }
    const ask = async () => {
      const response = await v1.fetch(
        new Request('http://localhost/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            model: `local/${name}`,
            messages: [{ role: 'user', content: 'kalo mire' }],
            seed: 1,
            max_tokens: 40,
            response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } },
          }),
        }),
      )
      return (await response.json()) as {
        choices: { message: { content: string } }[]
        usage: { prompt_tokens: number }
      }
    }
    const { choices, usage } = await ask()
    expect(['mi', 're']).toContain(JSON.parse(choices[0]!.message.content).kalo)
    // <s>, ▁kalo, ▁mire, </s>: the schema's own words come with their own message.
    expect(usage.prompt_tokens).toBeGreaterThanOrEqual(4)
    await v1.close()
  })
})

describe('what cannot be read is refused by its name', () => {
  it.each<[string, MadeUp, string]>([
    ['an architecture', { types: {}, metadata: (out) => out.text('general.architecture', 'mamba') }, '"mamba"'],
    [
      'a way to cut words',
      { types: {}, metadata: (out) => out.text('tokenizer.ggml.pre', 'tekken2'), vocabulary: 'bpe' },
      '"tekken2"',
    ],
    ['a tokenizer', { types: {}, metadata: (out) => out.text('tokenizer.ggml.model', 'rwkv') }, '"rwkv"'],
    ['a field', { types: {}, metadata: (out) => out.u32('llama.attention.odd_scale', 8) }, 'attention_odd_scale'],
    [
      'a rotation of a part',
      { types: {}, metadata: (out) => out.u32('llama.rope.dimension_count', 32) },
      'rope.dimension_count',
    ],
    [
      'a scaling',
      {
        types: {},
        metadata: (out) => {
          out.text('llama.rope.scaling.type', 'odd')
          out.float('llama.rope.scaling.factor', 2)
        },
      },
      '"odd"',
    ],
  ])('%s', async (_, of, name) => {
    const device = await openCpuDevice({ threads: 1 })
    const path = await written(of)
    expect(await refusal(open(path, { check: (outline) => planModel(outline, device) }))).toContain(name)
    device.destroy()
  })

  it('a version, the other order of bytes, a file of another kind', async () => {
    const path = await written({ types: { '*': 'F16' } })
    const bytes = await readFile(path)
    const with_ = async (at: number, ...values: number[]) => {
      const changed = Buffer.from(bytes)
      changed.set(values, at)
      await writeFile(path, changed)
      return refusal(open(path))
    }
    expect(await with_(4, 1)).toContain('version 1')
    expect(await with_(4, 0, 0, 0, 3)).toContain('big-endian')
    expect(await with_(0, 0)).toContain('is not a GGUF file')
  })

  it('a cut file, wherever it ends', async () => {
    const path = await written({ types: { '*': 'Q8_0' } })
    const { length } = await readFile(path)
    for (const bytes of [length - 4096, 20_000, 30, 2]) {
      await truncate(path, bytes)
      expect(await refusal(open(path))).toContain('is incomplete')
    }
  })
})

describe('a GGUF file at an address', () => {
  let bytes: Buffer
  let server: Hub
  beforeAll(async () => {
    bytes = await readFile(await written({ types: { '*': 'Q4_K' } }))
    server = await hub(new Map([['model.gguf', bytes]]))
  })
  afterAll(() => server.close())

  it('is refused for its head before the rest is fetched', async () => {
    server.requests.length = 0
    const check = () => {
      throw new Error('too large')
    }
    expect(await refusal(open(`${server.url}model.gguf`, { check }))).toBe('too large')
    expect(server.requests.map(({ file }) => file)).toEqual(['model.gguf'])
    expect(server.requests[0]!.range).toBe(`bytes=0-${2 ** 20 - 1}`)
  })

  it('is read from servers that know no ranges, or break off', async () => {
    const local = await answers((await open(await written({ types: { '*': 'Q4_K' } }))).weights)
    let broken = 0
    server.intercept = (_file, request, response, nth) => {
      if (nth % 2 === 1) {
        broken++
        send(bytes, request, response, 500_000)
        return true
      }
      delete request.headers.range
      send(bytes, request, response)
      return true
    }
    expect(await answers((await open(`${server.url}model.gguf`)).weights)).toEqual(local)
    expect(broken).toBeGreaterThan(0)
    server.intercept = undefined
  })

  it('that is shorter than its head says is refused as cut', async () => {
    server.intercept = (_file, request, response) => {
      send(bytes.subarray(0, bytes.length - 5000), request, response)
      return true
    }
    expect(await refusal(open(`${server.url}model.gguf`))).toContain('is incomplete')
    server.intercept = undefined
  })
})

describe('names', () => {
  it.each([
    ['hf:org/model:Q4_K_M', { kind: 'hub', repository: 'org/model', quantisation: 'Q4_K_M' }],
    ['org/model/sub/model-q8.gguf', { kind: 'hub', repository: 'org/model', file: 'sub/model-q8.gguf' }],
    ['hf:org/model', { kind: 'hub', repository: 'org/model' }],
    ['org/model', { kind: 'hub', repository: 'org/model' }],
    ['./models/a.gguf', { kind: 'folder', path: './models/a.gguf' }],
  ])('%s', (name, place) => {
    expect(locationOf(name)).toEqual(place)
  })

  it.each([
    ['https://models.test//a/b.gguf', 'write "https://models.test/a/b.gguf"'],
    ['https://models.test////b.gguf?x=1', 'write "https://models.test/b.gguf?x=1"'],
    ['https://models.test:port/b.gguf', 'write https://HOST/PATH'],
  ])('%s is refused with what to write', (name, advice) => {
    expect(() => locationOf(name)).toThrow(advice)
    expect(() => locationOf(name)).toThrow(`"${name}"`)
  })

  it('a quantisation is found among the files of the repository, and refused with what there is', async () => {
    const path = await written({ types: { '*': 'Q4_K' } })
    const bytes = await readFile(path)
    const list = ['model-IQ4_K_M.gguf', 'mmproj-Q4_K_M.gguf', 'model-Q4_K_M.gguf', 'model-Q4_K.gguf', 'README.md']
    const requests: string[] = []
    const fetch: OpenOptions['fetch'] = async (url) => {
      requests.push(url)
      if (url === 'https://huggingface.co/api/models/org/model/tree/main') {
        return Response.json(list.map((name) => ({ type: 'file', path: name })))
      }
      return new Response(bytes, { headers: { 'content-length': String(bytes.length) } })
    }
    await open('hf:org/model:q4_k_m', { fetch })
    expect(requests.at(-1)).toBe('https://huggingface.co/org/model/resolve/main/model-Q4_K_M.gguf')
    expect(await refusal(open('hf:org/model:Q6_K', { fetch }))).toMatch(/no GGUF file of Q6_K; there are model-IQ4_K_M/)
  })
})
