import type { TextPart, ToolSpec } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { ANY_ARGUMENT, callGrammar, isAnyText, namedTexts, type Parameters } from './call-grammar.js'
import type { ToolFormat } from './format.js'
import { HERMES } from './hermes.js'
import { insideOfString, namesOfParameters, readerOf, readName, readUpTo } from './letters.js'

const TAG = '<parameter='
const END = '\n</parameter>\n'

/** Qwen3-Coder and Qwen 3.5: a tag for each parameter, with texts as they are. */
export const QWEN_XML: ToolFormat = {
  ...HERMES,
  name: 'qwen-xml',
  isOf: (template) => ['<tool_call>', '<function=', '<parameter='].every((mark) => template.includes(mark)),
  grammar: callGrammar((name, parameters) => ({
    sequence: [
      `<function=${name}>\n`,
      parameters.inOrder((key, schema) => ({ sequence: [`${TAG}${key}>\n`, spelled(schema, parameters)] }), ''),
      '</function>',
    ],
  })),
  spell: (name, json) => {
    const tags = Object.entries(JSON.parse(json || '{}')).map(([key, value]) => {
      return `${TAG}${key}>\n${typeof value === 'string' ? value : JSON.stringify(value)}${END}`
    })
    return `<function=${name}>\n${tags.join('')}</function>`
  },
  form: '<function=name>\n<parameter=parameter>\n...\n</parameter>\n</function>',
  reader: (tools) =>
    readerOf(function* (found) {
      yield* readUpTo('<function=')
      const name = yield* readUpTo('>\n')
      found.name(name)
      found.add('{')
      const tags = namesOfParameters(tools, name).map((key) => TAG + key)
      for (let first = true; ; first = false) {
        const tag = yield* readName('>', tags, yield)
        if (!tag.startsWith(TAG)) break
        yield
        const key = tag.slice(TAG.length)
        found.add(`${first ? '' : ','}${JSON.stringify(key)}:`)
        if (takesText(tools, name, key)) {
          found.add('"')
          yield* readUpTo(END, (text) => found.add(insideOfString(text)))
          found.add('"')
        } else yield* readUpTo(END, found.add)
      }
      found.add('}')
      for (;;) yield
    }),
}

function spelled(schema: JsonObject, parameters: Parameters): TextPart {
  const texts = namedTexts(schema)
  if (texts) return { sequence: [{ choice: texts }, END] }
  const text = parameters.text(schema)
  return text === ANY_ARGUMENT ? { upTo: END } : { sequence: [text ?? parameters.value(schema), END] }
}

function takesText(tools: readonly ToolSpec[], name: string, key: string): boolean {
  const properties = tools.find((tool) => tool.name === name)?.parameters.properties
  const schema = isRecord(properties) ? properties[key] : undefined
  return isRecord(schema) && (isAnyText(schema) || namedTexts(schema) !== undefined)
}
