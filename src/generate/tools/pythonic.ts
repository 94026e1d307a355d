import type { TextPart, ToolSpec } from '../../contract/index.js'
import type { JsonObject } from '../../platform/index.js'
import { callGrammar, type Parameters } from './call-grammar.js'
import type { CallReader, ToolFormat } from './format.js'
import { namesOfParameters, readerOf, readName, readUpTo } from './letters.js'
import { literal } from './python-literal.js'

function keywordCalls(spell: (schema: JsonObject, parameters: Parameters) => TextPart) {
  return callGrammar((name, parameters) => ({
    sequence: [
      `${name}(`,
      parameters.inOrder((key, schema) => ({ sequence: [`${key}=`, spell(schema, parameters)] }), ', '),
      ')',
    ],
  }))
}

function spellCall(name: string, json: string, spell: (value: unknown) => string): string {
  const all = Object.entries(JSON.parse(json || '{}')).map(([key, each]) => `${key}=${spell(each)}`)
  return `${name}(${all.join(', ')})`
}

/** `f(city="Paris", days=3)`. Values are written as JSON, which is Python too but for three words, and read as Python. */
const CALL = {
  grammar: keywordCalls(spelled),
  reader: (tools: readonly ToolSpec[]): CallReader =>
    readerOf(function* (found) {
      const tool = yield* readUpTo('(')
      const names = namesOfParameters(tools, tool)
      found.name(tool)
      found.add('{')
      let letter = yield
      for (let first = true; letter !== ')'; first = false) {
        if (letter === ',') letter = yield
        if (!first && letter === ' ') letter = yield
        const key = yield* readName('=', names, letter)
        found.add(`${first ? '' : ','}${JSON.stringify(names.includes(key) ? key : key.trim())}:`)
        letter = yield* literal(yield, found.add)
      }
      found.add('}')
      for (;;) yield
    }),
  spell: (name: string, json: string) => spellCall(name, json, python),
  form: 'name(parameter="...")',
  native: true,
} satisfies Partial<ToolFormat>

const python = (each: unknown): string =>
  each === true ? 'True' : each === false ? 'False' : each === null ? 'None' : JSON.stringify(each)

function spelled(schema: JsonObject, parameters: Parameters): TextPart {
  if (schema.type === 'boolean' && schema.enum === undefined && schema.const === undefined) {
    return { choice: ['True', 'False'] }
  }
  return schema.type === 'null' ? 'None' : parameters.value(schema)
}

/** Llama 3.2 and 4, where the template asks for a list of calls in Python. */
export const LLAMA_PYTHONIC: ToolFormat = {
  ...CALL,
  name: 'llama-pythonic',
  isOf: (template) => template.includes('[func_name1('),
  open: '[',
  close: ']',
  separator: ', ',
  bare: '[',
}

/** LFM2 and LFM2.5. */
export const LFM2: ToolFormat = {
  ...CALL,
  name: 'lfm2',
  isOf: (template) => template.includes('<|tool_call_start|>') || template.includes('<|tool_list_start|>'),
  token: '<|tool_call_start|>',
  open: '<|tool_call_start|>[',
  close: ']<|tool_call_end|>',
  separator: ', ',
}

/** OLMo 3: a call a line, with values in JSON. */
export const OLMO3: ToolFormat = {
  ...CALL,
  name: 'olmo3',
  isOf: (template) => template.includes('<function_calls>'),
  token: '<function_calls>',
  open: '<function_calls>',
  close: '</function_calls>',
  separator: '\n',
  grammar: keywordCalls((schema, parameters) => parameters.value(schema)),
  spell: (name, json) => spellCall(name, json, JSON.stringify),
}
