import type { ToolFormat } from './format.js'
import { JSON_CALL } from './json-call.js'

/** Hermes, Qwen 2.5 and Qwen 3; what models without a marker of their own have seen most often. */
export const HERMES: ToolFormat = {
  ...JSON_CALL,
  name: 'hermes',
  isOf: () => true,
  open: '<tool_call>\n',
  close: '\n</tool_call>',
  between: '\n',
  native: true,
}

/** For templates that know no tools: the prompt tells of them. */
export const PLAIN: ToolFormat = {
  ...HERMES,
  name: 'plain',
  isOf: (template) => !/\btools\b/.test(template),
  native: false,
}
