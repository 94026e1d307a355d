/**
 * WebLLM's forward pass under the same decoding as our own core, over the same made-up weights, in the shapes that a
 * compiled library (`model_lib`, a .wasm) names. Which adapter both take is the machine's choice, the same for both.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { madeUpModel } from '../../scripts/made-up-weights.js'
import { openEngineSubject } from '../../src/bench/engine-subject.js'
import type { Candidate } from '../../src/bench/subject.js'
import type { ModelOptions } from '../../src/engines/webgpu/options.js'
import type { WebLlmOptions as EngineOptions, WebLlm } from '../../src/engines/webllm/index.js'
import { ChatText } from '../../src/generate/chat-text.js'

export interface WebLlmOptions {
  /** The compiled library. */
  readonly lib: string
  /** WebLLM's module, in the version that the library was compiled for. @default '@mlc-ai/web-llm' */
  readonly library?: string
}

export interface WebLlmBeside {
  readonly candidate: Candidate
  /** The same repository, for our own core. */
  readonly model: ModelOptions
  remove(): Promise<void>
}

const ID = 'made-up'

export async function webllmBeside({ lib, library }: WebLlmOptions): Promise<WebLlmBeside> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-webllm-'))
  const wasm = await readFile(lib)
  const files = await madeUpModel(wasm, {})
  addShape(files, wasm)
  for (const [name, bytes] of files) await writeFile(join(folder, name), bytes)
  const ends = endsOf(files)
  const record = { model: folder, model_id: ID, model_lib: resolve(lib) }
  const webllm = await builtEngine()
  const open = async () => {
    const engine = webllm({
      models: [record],
      cache: false,
      ...(library !== undefined && { library: pathToFileURL(resolve(library)).href }),
    })
    try {
      return await openEngineSubject(engine, `local/${ID}`, {
        name: 'webllm',
        notes: [`made-up weights for ${basename(lib)}`],
        ends: () => ends,
      })
    } catch (error) {
      await engine.close?.()
      throw error
    }
  }
  return {
    candidate: { name: 'webllm', open },
    model: { id: `local/${ID}`, from: folder },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Outside browsers it runs in a worker of its own, which is a file of the build. */
async function builtEngine(): Promise<(options: EngineOptions) => WebLlm> {
  const built = new URL('../../dist/webllm.js', import.meta.url)
  if (!existsSync(built)) throw new Error('WebLLM is measured in the built package: npm run build first.')
  return ((await import(built.href)) as { webllm: (options: EngineOptions) => WebLlm }).webllm
}

function endsOf(files: ReadonlyMap<string, Uint8Array>): number[] {
  const [tokenizer, chatConfig] = [jsonOf(files, 'tokenizer.json'), jsonOf(files, 'mlc-chat-config.json')]
  return [...new ChatText({ tokenizer, chatConfig }).ends]
}

/** What our own core asks of a repository beyond what WebLLM does: the library names it, or its weights show it. */
function addShape(files: Map<string, Uint8Array>, wasm: Uint8Array): void {
  const named = Buffer.from(wasm.buffer, wasm.byteOffset, wasm.byteLength).toString('latin1')
  const heads = named.match(/"kv_cache": ?(\{[^}]*\})/)?.[1]
  if (heads === undefined) throw new TypeError('This library does not name the heads of its model.')
  const { records } = jsonOf(files, 'tensor-cache.json') as {
    records: { records: { name: string; shape: number[] }[] }[]
  }
  const tensors = records.flatMap((shard) => shard.records)
  const rowsOf = (name: RegExp) => tensors.find((tensor) => name.test(tensor.name))!.shape[0]!
  const config = {
    ...jsonOf(files, 'mlc-chat-config.json'),
    model_config: {
      ...(JSON.parse(heads) as object),
      vocab_size: rowsOf(/embed_tokens/),
      hidden_size: rowsOf(/down_proj/),
      intermediate_size: rowsOf(/gate_up_proj/) / 2,
      tie_word_embeddings: !tensors.some(({ name }) => name.startsWith('lm_head')),
    },
  }
  files.set('mlc-chat-config.json', new TextEncoder().encode(JSON.stringify(config)))
}

function jsonOf(files: ReadonlyMap<string, Uint8Array>, name: string): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(files.get(name))) as Record<string, unknown>
}
