import type { ToolFormat } from './format.js'
import { HERMES, PLAIN } from './hermes.js'
import { LLAMA } from './llama.js'
import { MISTRAL } from './mistral.js'

/** The first whose template it is has it: the last takes whatever is left. */
export const TOOL_FORMATS: readonly ToolFormat[] = [PLAIN, MISTRAL, LLAMA, HERMES]

/** Read from the chat template. */
export function toolFormatOf(template: string): ToolFormat {
  return TOOL_FORMATS.find((format) => format.isOf(template)) ?? HERMES
}
