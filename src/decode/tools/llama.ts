import type { ToolFormat } from './format.js'
import { JSON_CALL } from './json-call.js'

/** Llama 3: the whole answer is the call. */
export const LLAMA: ToolFormat = {
  ...JSON_CALL,
  name: 'llama',
  isOf: (template) => template.includes('"parameters"') && template.includes('ipython'),
  open: '',
  close: '',
  bare: '{"name":',
  native: true,
}
