import type { ToolFormat } from './format.js'
import { FUNCTION_GEMMA, GEMMA4 } from './gemma.js'
import { HARMONY } from './harmony.js'
import { HERMES, PLAIN_FORMAT, UNKNOWN } from './hermes.js'
import { GRANITE, PHI4, PHI4_TAGS, XLAM } from './json-list.js'
import { LLAMA } from './llama.js'
import { MISTRAL, MISTRAL_ARGS, MISTRAL_IDS } from './mistral.js'
import { LFM2, LLAMA_PYTHONIC, OLMO3 } from './pythonic.js'
import { QWEN_XML } from './qwen-xml.js'

/** The first whose template it is has it: the last takes whatever is left. */
export const TOOL_FORMATS: readonly ToolFormat[] = [
  PLAIN_FORMAT,
  MISTRAL_IDS,
  MISTRAL_ARGS,
  MISTRAL,
  QWEN_XML,
  HARMONY,
  GEMMA4,
  FUNCTION_GEMMA,
  LFM2,
  OLMO3,
  LLAMA_PYTHONIC,
  LLAMA,
  PHI4,
  PHI4_TAGS,
  GRANITE,
  XLAM,
  HERMES,
  UNKNOWN,
]

/** Read from the chat template, or where that tells of tools in no form that is known, from the tokens there are. */
export function toolFormatOf(template: string, hasToken: (text: string) => boolean = () => false): ToolFormat {
  const format = TOOL_FORMATS.find((each) => each.isOf(template))!
  const byToken = () => TOOL_FORMATS.find(({ token }) => token !== undefined && hasToken(token))
  return format === UNKNOWN ? (byToken() ?? UNKNOWN) : format
}
