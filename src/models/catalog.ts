/**
 * The models to begin with: one of each family, each from files that are run as they lie. What is downloaded of GGUF files
 * and of encoders is as their repositories list it, of MLC's computed from the shape; memory is what `models fits` plans
 * for this context. `test/catalog.test.ts` holds all of it to the planner.
 */
export interface CatalogModel {
  /** What `models` and `serve --model` take. */
  readonly from: string
  /** Under what it is then served. */
  readonly id: string
  readonly name: string
  /** What it is good for. */
  readonly about: string
  /** Conversations; schemas to fill alone; vectors; scores of documents; typed questions alone. */
  readonly use: 'chat' | 'fields' | 'vectors' | 'scores' | 'decisions'
  readonly format: string
  readonly downloadBytes: number
  readonly memoryBytes: number
  /** Tokens of a conversation that this memory is for. */
  readonly contextLength: number
  /** Tokens that it was made for. */
  readonly trainedContext: number
  readonly licence: string
  /** How it was taught to call tools; absent: it was not. */
  readonly tools?: string
  /** It may think before it answers. */
  readonly thinks: boolean
  /** `local-v1 bench -m made-up/...` says how fast one of its shape would be. */
  readonly shape?: string
}

/** The embedded one, which nothing is downloaded for. */
export const NANO = 'local-v1/nano'
const CONTEXT = 4096
const MB = 1_000_000

const SIZE = /-(?=[\w.]+$)/

/** In MLC's form: `mlc-ai/` and this name. */
function mlc(repository: string, rest: Omit<CatalogModel, 'from' | 'id' | 'use' | 'format' | 'contextLength'>) {
  const id = `mlc-ai/${repository}`
  const format = `MLC ${repository.replace(/-MLC$/, '').split(SIZE).at(-1)}`
  return { from: id, id, use: 'chat', format, contextLength: CONTEXT, ...rest } as const
}

/** A file in Q4_0 of a repository that ends in `-GGUF`. */
function gguf(
  owner: string,
  [repository, file]: readonly [repository: string, file: string],
  rest: Omit<CatalogModel, 'from' | 'id' | 'use' | 'format' | 'contextLength'>,
) {
  const from = `${owner}/${repository}-GGUF/${file}-Q4_0.gguf`
  return {
    from,
    id: `${owner}/${file}-Q4_0`,
    use: 'chat',
    format: 'GGUF Q4_0',
    contextLength: CONTEXT,
    ...rest,
  } as const
}

export const CATALOG: readonly CatalogModel[] = [
  {
    from: NANO,
    id: NANO,
    name: 'nano',
    about: 'Comes with local-v1. Fills schemas from short English texts; not for conversation.',
    use: 'fields',
    format: 'MLC q4f16_1',
    downloadBytes: 11.7 * MB,
    memoryBytes: 58 * MB,
    contextLength: 4096,
    trainedContext: 4096,
    licence: 'Apache-2.0',
    thinks: false,
  },
  mlc('SmolLM2-135M-Instruct-q0f16-MLC', {
    name: 'SmolLM2 135M',
    about: 'The smallest model for conversation, in full precision.',
    downloadBytes: 269 * MB,
    memoryBytes: 368 * MB,
    trainedContext: 8192,
    licence: 'Apache-2.0',
    thinks: false,
    shape: 'SmolLM2-135M-like',
  }),
  mlc('Qwen3-0.6B-q4f16_1-MLC', {
    name: 'Qwen3 0.6B',
    about: 'Many languages; can think before it answers.',
    downloadBytes: 335 * MB,
    memoryBytes: 855 * MB,
    trainedContext: 40_960,
    licence: 'Apache-2.0',
    tools: 'hermes',
    thinks: true,
    shape: 'Qwen3-0.6B-like',
  }),
  mlc('Qwen3.5-0.8B-q4f16_1-MLC', {
    name: 'Qwen3.5 0.8B',
    about: 'Over two hundred languages, long texts; the one to try first.',
    downloadBytes: 424 * MB,
    memoryBytes: 682 * MB,
    trainedContext: 262_144,
    licence: 'Apache-2.0',
    tools: 'qwen-xml',
    thinks: true,
    shape: 'Qwen3.5-0.8B-like',
  }),
  mlc('gemma3-1b-it-q4f16_1-MLC', {
    name: 'Gemma 3 1B',
    about: 'Plain conversation and rewriting.',
    downloadBytes: 563 * MB,
    memoryBytes: 714 * MB,
    trainedContext: 32_768,
    licence: 'Gemma Terms of Use',
    thinks: false,
    shape: 'Gemma-3-1B-like',
  }),
  mlc('Llama-3.2-1B-Instruct-q4f16_1-MLC', {
    name: 'Llama 3.2 1B',
    about: 'Instructions and summaries, in eight languages.',
    downloadBytes: 695 * MB,
    memoryBytes: 919 * MB,
    trainedContext: 131_072,
    licence: 'Llama 3.2 Community License',
    tools: 'llama',
    thinks: false,
    shape: 'Llama-3.2-1B-like',
  }),
  gguf('LiquidAI', ['LFM2.5-1.2B-Instruct', 'LFM2.5-1.2B-Instruct'], {
    name: 'LFM2.5 1.2B',
    about: 'Tools and extraction; long texts take little memory.',
    downloadBytes: 695_751_488,
    memoryBytes: 772 * MB,
    trainedContext: 32_768,
    licence: 'LFM Open License 1.0',
    tools: 'lfm2',
    thinks: false,
    shape: 'LFM2-1.2B-like',
  }),
  gguf('ibm-granite', ['granite-4.0-1b', 'granite-4.0-1b'], {
    name: 'Granite 4.0 1B',
    about: 'Business texts, tools, code with gaps to fill.',
    downloadBytes: 974_984_960,
    memoryBytes: 1319 * MB,
    trainedContext: 131_072,
    licence: 'Apache-2.0',
    tools: 'hermes',
    thinks: false,
    shape: 'Granite-4.0-1.6B-like',
  }),
  gguf('ggml-org', ['gemma-4-E2B-it', 'gemma-4-E2B-it'], {
    name: 'Gemma 4 E2B',
    about: 'Over a hundred languages, tools; thinks on request.',
    downloadBytes: 2_841_481_184,
    memoryBytes: 2826 * MB,
    trainedContext: 131_072,
    licence: 'Apache-2.0',
    tools: 'gemma4',
    thinks: true,
    shape: 'Gemma-4-E2B-like',
  }),
  gguf('bartowski', ['HuggingFaceTB_SmolLM3-3B', 'HuggingFaceTB_SmolLM3-3B'], {
    name: 'SmolLM3 3B',
    about: 'Its training data is open; six languages; can think.',
    downloadBytes: 1_811_455_808,
    memoryBytes: 2118 * MB,
    trainedContext: 65_536,
    licence: 'Apache-2.0',
    tools: 'hermes',
    thinks: true,
    shape: 'SmolLM3-3B-like',
  }),
  mlc('Ministral-3-3B-Instruct-2512-BF16-q4f16_1-MLC', {
    name: 'Ministral 3 3B',
    about: 'European languages, tools, long texts; for a real GPU.',
    downloadBytes: 1929 * MB,
    memoryBytes: 2598 * MB,
    trainedContext: 262_144,
    licence: 'Apache-2.0',
    tools: 'mistral-args',
    thinks: false,
    shape: 'Ministral-3-3B-like',
  }),
  mlc('Phi-4-mini-instruct-q4f16_1-MLC', {
    name: 'Phi-4-mini',
    about: 'Reasoning and mathematics; for a real GPU.',
    downloadBytes: 2158 * MB,
    memoryBytes: 2954 * MB,
    trainedContext: 131_072,
    licence: 'MIT',
    tools: 'phi4',
    thinks: false,
    shape: 'Phi-4-mini-3.8B-like',
  }),
  {
    from: 'BAAI/bge-small-en-v1.5',
    id: 'BAAI/bge-small-en-v1.5',
    name: 'bge small',
    about: 'Embeddings of English texts, 384 numbers each.',
    use: 'vectors',
    format: 'safetensors f32',
    downloadBytes: 133_466_304,
    memoryBytes: 151 * MB,
    contextLength: 512,
    trainedContext: 512,
    licence: 'MIT',
    thinks: false,
  },
  {
    from: 'cross-encoder/ms-marco-MiniLM-L6-v2',
    id: 'cross-encoder/ms-marco-MiniLM-L6-v2',
    name: 'ms-marco MiniLM',
    about: 'How well English documents answer a question.',
    use: 'scores',
    format: 'safetensors f32',
    downloadBytes: 90_870_598,
    memoryBytes: 109 * MB,
    contextLength: 512,
    trainedContext: 512,
    licence: 'Apache-2.0',
    thinks: false,
  },
  {
    from: 'ggml-org/Laya-GGUF/Laya-Q8_0.gguf',
    id: 'ggml-org/Laya-Q8_0',
    name: 'Laya',
    about: 'Decisions about English texts only: one pass for each question, for devices without a GPU.',
    use: 'decisions',
    format: 'GGUF Q8_0',
    downloadBytes: 449 * MB,
    memoryBytes: 500 * MB,
    contextLength: 512,
    trainedContext: 512,
    licence: 'Apache-2.0',
    thinks: false,
  },
]
