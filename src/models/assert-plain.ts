/** Transformers' ways to store weights in fewer bits, and LoRA, have tensors of their own, which no kernel here reads. */

import { record } from './architectures/fields.js'
import type { WeightOutline } from './files/source.js'
import { refuse } from './refuse.js'

/** Where configurations speak of it; older ones of compressed-tensors say it otherwise. */
const FIELDS = ['quantization_config', 'compression_config'] as const

/** What their tensors end in, where a repository says it in no configuration, or in a file beside it. */
const ENDINGS: readonly [ending: RegExp, method: string][] = [
  [/\.g_idx$/, 'gptq'],
  [/\.qweight$/, 'awq or gptq'],
  [/\.weight_packed$/, 'compressed-tensors'],
  [/\.(quant_state\.\w+|absmax|SCB)$/, 'bitsandbytes'],
]

const ADVICE =
  'Use the unquantised weights of the same model (with quantize: "q4f16_1" if they are too large), or a GGUF file.'

/** What a LoRA's tensors are called, of PEFT and of Jina's parametrisations. */
const LORA = /(^|[._])lora_/i

/** Throws the name of a quantisation that is not read, or of a LoRA that would go by unseen. */
export function assertPlain({ chatConfig, names }: WeightOutline, model: string): void {
  const lora = names.find((each) => LORA.test(each))
  if (lora !== undefined) throw refuse(model, `a LoRA (tensor ${lora})`, 'Use weights into which it is merged.')
  for (const config of [chatConfig, record(chatConfig.text_config)]) {
    const field = FIELDS.find((each) => record(config?.[each]))
    if (!field) continue
    const settings = record(config![field])!
    const method = settings.quant_method ?? (field === 'compression_config' ? 'compressed-tensors' : 'unknown')
    const format = typeof settings.format === 'string' ? `, ${settings.format}` : ''
    throw refuse(model, `its quantisation "${String(method)}" (${field}${format})`, ADVICE)
  }
  for (const [ending, method] of ENDINGS) {
    const name = names.find((each) => ending.test(each))
    if (name !== undefined) throw refuse(model, `its quantisation "${method}" (tensor ${name})`, ADVICE)
  }
}
