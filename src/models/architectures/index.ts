/** The architectures that can be run, by `model_type`. */

import type { JsonObject } from '../../platform/index.js'
import type { Naming } from '../files/source.js'
import type { ModelPlan } from '../model-plan.js'
import { refuse } from '../refuse.js'
import { apertus } from './apertus.js'
import { arcee } from './arcee.js'
import type { Architecture } from './architecture.js'
import { cohere, cohere2 } from './cohere.js'
import { exaone4 } from './exaone4.js'
import { Fields, record } from './fields.js'
import { gemma } from './gemma.js'
import { gemma2 } from './gemma2.js'
import { gemma3 } from './gemma3.js'
import { gemma4 } from './gemma4.js'
import { fromGguf, type GgufForm } from './gguf.js'
import { gptOss } from './gpt-oss.js'
import { granite } from './granite.js'
import { graniteMoe } from './granite-moe.js'
import { granite4 } from './granite4.js'
import { lfm2 } from './lfm2.js'
import { lfm2Moe } from './lfm2-moe.js'
import { llama } from './llama.js'
import { ministral3 } from './ministral3.js'
import { mistral } from './mistral.js'
import { mixtral } from './mixtral.js'
import { olmo2 } from './olmo2.js'
import { olmoe } from './olmoe.js'
import { phi } from './phi.js'
import { phi3 } from './phi3.js'
import { qwen2 } from './qwen2.js'
import { qwen2Moe } from './qwen2-moe.js'
import { qwen3 } from './qwen3.js'
import { qwen35 } from './qwen3-5.js'
import { qwen35Moe } from './qwen3-5-moe.js'
import { qwen3Moe } from './qwen3-moe.js'
import { readDecoder } from './read-decoder.js'
import { smollm3 } from './smollm3.js'
import { stablelm } from './stablelm.js'
import { starcoder2 } from './starcoder2.js'

export const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  apertus,
  arcee,
  cohere,
  cohere2,
  'command-r': cohere,
  exaone4,
  gemma,
  gemma2,
  gemma3,
  gemma3_text: gemma3,
  gemma4,
  gemma4_text: gemma4,
  'gpt-oss': gptOss,
  gpt_oss: gptOss,
  granite,
  granitemoe: graniteMoe,
  granitehybrid: granite4,
  granitemoehybrid: granite4,
  lfm2,
  lfm2_moe: lfm2Moe,
  lfm2moe: lfm2Moe,
  llama,
  ministral3,
  mistral,
  mistral3: ministral3,
  mixtral,
  olmo2,
  olmoe,
  phi,
  'phi-msft': phi,
  phi2: phi,
  phi3,
  qwen2,
  qwen2_moe: qwen2Moe,
  qwen2moe: qwen2Moe,
  qwen3,
  qwen3_5: qwen35,
  qwen3_5_moe: qwen35Moe,
  qwen3_5_moe_text: qwen35Moe,
  qwen3_5_text: qwen35,
  qwen35,
  qwen35moe: qwen35Moe,
  qwen3_moe: qwen3Moe,
  qwen3moe: qwen3Moe,
  smollm3,
  stablelm,
  starcoder2,
}

/** `config` as the repository has it; `name` is the model's, for messages. Refuses by name what it does not know. */
export function readModel(
  config: JsonObject,
  name = 'This model',
  naming: Naming = 'mlc',
  also: readonly string[] = [],
): { architecture: Architecture; model: ModelPlan } {
  const type = config.model_type ?? record(config.model_config)?.model_type
  if (typeof type !== 'string') throw refuse(name, 'a configuration that does not name its model_type')
  const architecture = Object.hasOwn(ARCHITECTURES, type) ? ARCHITECTURES[type] : undefined
  if (!architecture) {
    throw unknown(type, name, also, config)
  }
  const fields =
    naming === 'gguf'
      ? new Fields(name, fromGguf(config, formOf(architecture, type, name), name))
      : fieldsOf(config, name)
  const model = { architecture: type, ...readDecoder(architecture, fields) }
  fields.assertAllRead()
  return { architecture, model }
}

/** Names of families in which each token goes through some of many MLPs. */
const EXPERTS = /moe|gpt.oss|deepseek|dbrx|grok|arctic/

/** `also`: what is known beside decoders. */
function unknown(type: string, name: string, also: readonly string[], config: JsonObject): Error {
  const known = [...also, ...Object.keys(ARCHITECTURES)].join(', ')
  const experts = config.num_local_experts ?? config.num_experts ?? config.expert_count
  const detail = (typeof experts === 'number' ? experts > 0 : EXPERTS.test(type)) ? ', a mixture of experts,' : ''
  return refuse(name, `the architecture "${type}"${detail}`, `Supported are ${known}.`)
}

function formOf({ gguf }: Architecture, type: string, name: string): GgufForm {
  if (gguf) return gguf
  const known = Object.entries(ARCHITECTURES).flatMap(([each, { gguf }]) => (gguf ? [each] : []))
  throw refuse(name, `the architecture "${type}" from a GGUF file`, `Supported are ${known.join(', ')}.`)
}

/**
 * MLC puts most of it into an object of its own, of which these two outside have the last word; a model that sees has its
 * decoder in another.
 */
function fieldsOf(config: JsonObject, name: string): Fields {
  const outer = { ...config, ...record(config.model_config) }
  const inner = record(outer.text_config) ?? record(config.model_config)
  if (!inner) return new Fields(name, config)
  const last = ['context_window_size', 'sliding_window_size'].filter((key) => Number(config[key]) > 0)
  return new Fields(name, { ...inner, ...Object.fromEntries(last.map((key) => [key, config[key]])) }, outer)
}
