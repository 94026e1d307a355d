import type { ToolFormat } from './format.js'
import { JSON_CALL } from './json-call.js'

/** Hermes, Qwen 2.5 and Qwen 3; what models without a marker of their own have seen most often. */
export const HERMES: ToolFormat = {
  ...JSON_CALL,
  name: 'hermes',
  // GLM has the same mark, and another form behind it.
  isOf: (template) => template.includes('<tool_call>') && !template.includes('<arg_key>'),
  open: '<tool_call>\n',
  close: '\n</tool_call>',
  between: '\n',
  native: true,
}

/** For templates that tell of tools in a form of their own: the model is held to the commonest one. */
export const UNKNOWN: ToolFormat = { ...HERMES, name: 'unknown', isOf: () => true }

/** Command A's template for chats begins so: it has another one for tools. */
const SETS_TOOLS_ASIDE = /^\s*(\{\{-?\s*bos_token\s*-?\}\}\s*)?\{%-?\s*set\s+tools\s*=\s*\[\s*\]\s*-?%\}/

/** For templates that know no tools: the prompt tells of them. */
export const PLAIN_FORMAT: ToolFormat = {
  ...HERMES,
  name: 'plain',
  isOf: (template) => !/\btools\b/.test(template) || SETS_TOOLS_ASIDE.test(template),
  native: false,
}
