import { callGrammar } from './call-grammar.js'
import type { ToolFormat } from './format.js'
import { JSON_CALL, jsonCallReader } from './json-call.js'

/** Llama 3: the whole answer is the call. */
export const LLAMA: ToolFormat = {
  ...JSON_CALL,
  name: 'llama',
  isOf: (template) => template.includes('"parameters"') && template.includes('ipython'),
  open: '',
  close: '',
  bare: '{"name":',
  native: true,
  // As its template spells them, with a space where it has one.
  grammar: callGrammar((name, parameters) => ({
    sequence: [`{"name": ${JSON.stringify(name)}, "parameters": `, parameters.whole, '}'],
  })),
  spell: (name, json) => `{"name": ${JSON.stringify(name)}, "parameters": ${json || '{}'}}`,
  form: '{"name": "...", "parameters": {...}}',
  reader: () => jsonCallReader(),
}
