/** Families that are not run are refused by their names, whatever form their files have, before weights are downloaded. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { F32, Metadata, writeGgufFile } from '../../../bench/peers/gguf-file.js'
import { addWords } from '../../../test/oracles/files/gguf.js'
import { safetensors } from '../../../test/oracles/files/safetensors.js'
import { ownFolder } from '../../../test/support/own-folder.js'
import { webgpu } from '../../engines/webgpu/index.js'
import { type Hub, hub } from '../files/hub.test-helper.js'

/** By transformers' and MLC's name, and llama.cpp's. */
const EXPERTS = [
  ['dbrx', 'dbrx'],
  ['granitemoehybrid', 'granitehybrid'],
  ['deepseek_v3', 'deepseek2'],
] as const
const OTHERS = [['nomic_bert', 'nomic-bert']] as const

/** A mixture is told by its configuration, whatever its name. */
const isMixture = (name: string) => EXPERTS.some((names) => (names as readonly string[]).includes(name))

const json = (value: object) => new TextEncoder().encode(JSON.stringify(value))
const MIB = 2 ** 20
const config = (model_type: string) => ({
  ...{ model_type, hidden_size: 64, intermediate_size: 64, num_hidden_layers: 1, num_attention_heads: 4 },
  ...{ vocab_size: 640, context_window_size: 64 },
  ...(isMixture(model_type) && { num_experts: 8, num_local_experts: 8, num_experts_per_tok: 2 }),
})

const folder = ownFolder()
let weights: Uint8Array
beforeAll(async () => {
  const [rows, columns] = [4 * 1024, 512]
  const spec = { name: 'model.embed_tokens.weight', shape: [rows, columns], deviation: 1 }
  weights = safetensors([spec], () => new Float64Array(rows * columns))
})

const text = [['tokenizer.json', json({ model: { type: 'BPE', vocab: {}, merges: [] } })]] as const

async function gguf(architecture: string): Promise<Uint8Array> {
  const path = join(folder, `${architecture}.gguf`)
  const out = new Metadata()
  out.text('general.architecture', architecture)
  out.u32(`${architecture}.block_count`, 1)
  if (isMixture(architecture)) out.u32(`${architecture}.expert_count`, 8)
  addWords(out, 640)
  const bytes = 4 * 1024 * 512 * 4
  const data = async () => Buffer.alloc(bytes)
  await writeGgufFile(path, out, [{ name: 'token_embd.weight', dims: [512, 4 * 1024], type: F32, bytes, data }])
  return readFile(path)
}

const RECORD = {
  ...{ name: 'model.embed_tokens.weight', shape: [16, 16], dtype: 'float32', format: 'raw' },
  ...{ nbytes: 1024, byteOffset: 0 },
}
const mlc = (type: string) =>
  new Map<string, Uint8Array>([
    ...text,
    [
      'mlc-chat-config.json',
      json({
        ...{ model_type: type, quantization: 'q4f16_1', context_window_size: 64, vocab_size: 640 },
        ...{ tokenizer_files: ['tokenizer.json'], model_config: config(type) },
      }),
    ],
    [
      'tensor-cache.json',
      json({
        records: [{ dataPath: 'params_shard_0.bin', format: 'raw-shard', nbytes: weights.length, records: [RECORD] }],
      }),
    ],
    ['params_shard_0.bin', weights],
  ])

const transformers = (type: string, more: readonly (readonly [string, Uint8Array])[] = []) =>
  new Map<string, Uint8Array>([...text, ['config.json', json(config(type))], ['model.safetensors', weights], ...more])

/** What loading a repository says, and how many bytes of weights it asked for. */
async function loading(
  files: ReadonlyMap<string, Uint8Array>,
  of = '',
): Promise<{ error: unknown; downloaded: number }> {
  const server: Hub = await hub(files)
  const engine = webgpu({
    models: [{ id: 'org/model', from: server.url + of }],
    device: 'cpu',
    threads: 1,
    cache: false,
    log: () => {},
  })
  try {
    const error = await engine.load!('org/model', () => {}, new AbortController().signal).then(
      () => 'it was loaded',
      (reason: unknown) => reason,
    )
    const requests = server.requests.filter(({ file }) => /\.(safetensors|bin|gguf)$/.test(file))
    const bytes = requests.map(({ file, range }) => {
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(range ?? '') ?? [0, 0, files.get(file)!.length - 1]
      return Number(to) - Number(from) + 1
    })
    return { error, downloaded: bytes.reduce((sum, one) => sum + one, 0) }
  } finally {
    await engine.close?.()
    await server.close()
  }
}

const refused = (type: string, why: string) =>
  expect.objectContaining({
    code: 'model_not_supported',
    message: expect.stringContaining(`org/model cannot be run: the architecture "${type}"${why} is not supported.`),
  })

describe.each([
  ...EXPERTS.map(([type, ggml]) => ({ type, ggml, why: ', a mixture of experts,' })),
  ...OTHERS.map(([type, ggml]) => ({ type, ggml, why: '' })),
])('$type is refused by its name before its weights are downloaded', ({ type, ggml, why }) => {
  it('as safetensors', async () => {
    const { error, downloaded } = await loading(transformers(type))
    expect(error).toEqual(refused(type, why))
    expect(downloaded).toBeLessThanOrEqual(MIB)
  })

  it('as MLC has it', async () => {
    const { error, downloaded } = await loading(mlc(type))
    expect(error).toEqual(refused(type, why))
    expect(downloaded).toBe(0)
  })

  it('as GGUF', async () => {
    const { error, downloaded } = await loading(new Map([['model.gguf', await gguf(ggml)]]), 'model.gguf')
    expect(error).toEqual(refused(ggml, why))
    expect(downloaded).toBeLessThanOrEqual(MIB)
  })
})

it.each(OTHERS)('%s is refused where its files say that it makes vectors, too', async (type) => {
  const more = [
    [
      'modules.json',
      json([
        { path: '', type: 'Transformer' },
        { path: '1_Pooling', type: 'Pooling' },
      ]),
    ],
    ['1_Pooling/config.json', json({ pooling_mode_mean_tokens: true })],
  ] as const
  const { error } = await loading(transformers(type, more))
  expect(error).toEqual(refused(type, ''))
  expect(String(error)).toContain('Supported are bert, roberta, xlm-roberta')
})
