/** The decoder's weights on a device. */
import type { Matrix, Vector } from '../device/device.js'
import type { DecoderConfig } from './config.js'
import { ropeFrequencies, ropeTable } from './rope.js'
import type { TensorLoader } from './tensors.js'

export interface LayerWeights {
  readonly attentionNorm: Vector
  readonly qkv: Matrix
  readonly qkvBias?: Vector
  readonly queryNorm?: Vector
  readonly keyNorm?: Vector
  readonly output: Matrix
  readonly mlpNorm: Vector
  readonly gateUp: Matrix
  readonly down: Matrix
}

export interface DecoderWeights {
  readonly embedding: Matrix
  readonly layers: readonly LayerWeights[]
  readonly norm: Vector
  /** The embedding itself where the two are tied. */
  readonly head: Matrix
  readonly angles: Vector
}

/** `positions`: for how many angles are made. */
export async function loadWeights(
  loader: TensorLoader,
  config: DecoderConfig,
  positions: number,
  onLayer?: (done: number, of: number) => void,
): Promise<DecoderWeights> {
  const { source } = loader
  const { hidden, vocabulary } = config
  const embedding = await loader.matrix('model.embed_tokens', [vocabulary, hidden])
  const layers: LayerWeights[] = []
  for (let i = 0; i < config.layers; i++) {
    layers.push(await loadLayer(loader, config, `model.layers.${i}`))
    onLayer?.(i + 1, config.layers)
  }
  const norm = await loader.vector('model.norm.weight', hidden)
  const separate = !config.tied && (source.has('lm_head.weight') || source.has('lm_head.q_weight'))
  const head = separate ? await loader.matrix('lm_head', [vocabulary, hidden]) : embedding
  const frequencies = ropeFrequencies(config.headSize, config.ropeTheta, config.ropeScaling)
  return { embedding, layers, norm, head, angles: loader.floats(ropeTable(positions, frequencies)) }
}

async function loadLayer(loader: TensorLoader, config: DecoderConfig, at: string): Promise<LayerWeights> {
  const { hidden, intermediate, headSize } = config
  const width = (config.heads + 2 * config.keyHeads) * headSize
  const qkv = `${at}.self_attn.${config.qkvName}`
  return {
    attentionNorm: await loader.vector(`${at}.input_layernorm.weight`, hidden),
    qkv: await loader.matrix(qkv, [width, hidden]),
    ...(loader.source.has(`${qkv}.bias`) ? { qkvBias: await loader.vector(`${qkv}.bias`, width) } : {}),
    ...(config.headNorm
      ? {
          queryNorm: await loader.vector(`${at}.self_attn.q_norm.weight`, headSize),
          keyNorm: await loader.vector(`${at}.self_attn.k_norm.weight`, headSize),
        }
      : {}),
    output: await loader.matrix(`${at}.self_attn.o_proj`, [hidden, config.heads * headSize]),
    mlpNorm: await loader.vector(`${at}.post_attention_layernorm.weight`, hidden),
    gateUp: await loader.matrix(`${at}.mlp.gate_up_proj`, [2 * intermediate, hidden], true),
    down: await loader.matrix(`${at}.mlp.down_proj`, [hidden, intermediate]),
  }
}
