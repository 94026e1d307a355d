import type { ToolFormat } from './format.js'
import { FUNCTION_GEMMA, GEMMA4 } from './gemma.js'
import { HERMES, PLAIN, UNKNOWN } from './hermes.js'
import { GRANITE, PHI4, PHI4_TAGS } from './json-list.js'
import { LLAMA } from './llama.js'
import { MISTRAL, MISTRAL_ARGS, MISTRAL_IDS } from './mistral.js'
import { LFM2, LLAMA_PYTHONIC, OLMO3 } from './pythonic.js'
import { QWEN_XML } from './qwen-xml.js'

/** The first whose template it is has it: the last takes whatever is left. */
export const TOOL_FORMATS: readonly ToolFormat[] = [
  PLAIN,
  MISTRAL_IDS,
  MISTRAL_ARGS,
  MISTRAL,
  QWEN_XML,
  GEMMA4,
  FUNCTION_GEMMA,
  LFM2,
  OLMO3,
  LLAMA_PYTHONIC,
  LLAMA,
  PHI4,
  PHI4_TAGS,
  GRANITE,
  HERMES,
  UNKNOWN,
]

/** Read from the chat template. */
export function toolFormatOf(template: string): ToolFormat {
  return TOOL_FORMATS.find((format) => format.isOf(template))!
}
