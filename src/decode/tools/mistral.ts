import type { ToolFormat } from './format.js'
import { JSON_CALL } from './json-call.js'

/** Mistral up to 2024: a list of calls behind one marker. */
export const MISTRAL: ToolFormat = {
  ...JSON_CALL,
  name: 'mistral',
  isOf: (template) => template.includes('[TOOL_CALLS]'),
  open: '[TOOL_CALLS] [',
  close: ']',
  native: true,
}
