/** The models that the playground offers, and what is known of them before they are downloaded. */

export interface CatalogModel {
  readonly id: string
  readonly name: string
  readonly about: string
  readonly parameters: number
  /** Absent for the embedded model, whose files say it. */
  readonly downloadBytes?: number
  readonly memoryBytes?: number
  /** It holds a conversation; the embedded model only fills schemas. */
  readonly chats: boolean
  readonly contextLength: number
}

/** What `mlc-chat-config.json` says of a Llama-family model whose output layer is its embedding. */
interface Shape {
  readonly vocabulary: number
  readonly hidden: number
  readonly intermediate: number
  readonly layers: number
  readonly heads: number
  readonly keyHeads: number
  readonly headSize: number
  /** 4 bits and a scale of 16 for every 32 weights, or 16 bits for each. */
  readonly bitsPerWeight: 4.5 | 16
}

export const NANO = 'local-v1/nano'
const CONTEXT = 4096

function weightsOf({ vocabulary, hidden, intermediate, layers, heads, keyHeads, headSize }: Shape): number {
  const attention = hidden * headSize * (2 * heads + 2 * keyHeads)
  return vocabulary * hidden + layers * (attention + 3 * hidden * intermediate)
}

/** Weights and a cache of keys and values in 16 bits; norms and tokenizers are a thousandth of it. */
function sized(shape: Shape) {
  const parameters = weightsOf(shape)
  const downloadBytes = Math.round((parameters * shape.bitsPerWeight) / 8)
  const cacheBytes = 2 * 2 * shape.layers * shape.keyHeads * shape.headSize * CONTEXT
  return { parameters, downloadBytes, memoryBytes: downloadBytes + cacheBytes, contextLength: CONTEXT, chats: true }
}

export const catalog: readonly CatalogModel[] = [
  {
    id: NANO,
    name: 'nano',
    about: 'Comes with local-v1. Fills schemas from short English texts; it does not converse.',
    parameters: 2_600_000,
    chats: false,
    contextLength: 1024,
  },
  {
    id: 'mlc-ai/SmolLM2-135M-Instruct-q0f16-MLC',
    name: 'SmolLM2 135M',
    about: 'The smallest that converses, in full precision.',
    ...sized({
      vocabulary: 49_152,
      hidden: 576,
      intermediate: 1536,
      layers: 30,
      heads: 9,
      keyHeads: 3,
      headSize: 64,
      bitsPerWeight: 16,
    }),
  },
  {
    id: 'mlc-ai/SmolLM2-360M-Instruct-q4f16_1-MLC',
    name: 'SmolLM2 360M',
    about: 'Small and quick; good with short instructions.',
    ...sized({
      vocabulary: 49_152,
      hidden: 960,
      intermediate: 2560,
      layers: 32,
      heads: 15,
      keyHeads: 5,
      headSize: 64,
      bitsPerWeight: 4.5,
    }),
  },
  {
    id: 'mlc-ai/Qwen2.5-0.5B-Instruct-q4f16_1-MLC',
    name: 'Qwen2.5 0.5B',
    about: 'Many languages, solid at extracting.',
    ...sized({
      vocabulary: 151_936,
      hidden: 896,
      intermediate: 4864,
      layers: 24,
      heads: 14,
      keyHeads: 2,
      headSize: 64,
      bitsPerWeight: 4.5,
    }),
  },
  {
    id: 'mlc-ai/Qwen3-0.6B-q4f16_1-MLC',
    name: 'Qwen3 0.6B',
    about: 'Many languages; may think before it answers.',
    ...sized({
      vocabulary: 151_936,
      hidden: 1024,
      intermediate: 3072,
      layers: 28,
      heads: 16,
      keyHeads: 8,
      headSize: 128,
      bitsPerWeight: 4.5,
    }),
  },
  {
    id: 'mlc-ai/Llama-3.2-1B-Instruct-q4f16_1-MLC',
    name: 'Llama 3.2 1B',
    about: 'The best answers of this list, for a real GPU.',
    ...sized({
      vocabulary: 128_256,
      hidden: 2048,
      intermediate: 8192,
      layers: 16,
      heads: 32,
      keyHeads: 8,
      headSize: 64,
      bitsPerWeight: 4.5,
    }),
  },
]
