import type { TextPart } from '../../contract/index.js'
import { isRecord, type JsonObject } from '../../platform/index.js'
import { callGrammar, isAnyText, namedTexts, type Parameters } from './call-grammar.js'
import type { ToolFormat } from './format.js'
import { insideOfString, namesOfParameters, readerOf, readName, readUpTo } from './letters.js'

/** `call:f{city:"Paris",days:3}`, with a control token in place of quotes and keys without any. */
function gemma(name: string, quote: string, open: string, close: string): ToolFormat {
  return {
    name,
    isOf: (template) => template.includes(open) && template.includes(quote),
    token: open,
    open,
    close,
    between: '',
    marks: [quote],
    native: true,
    grammar: callGrammar((tool, parameters) => {
      // Templates write the keys in the order of the alphabet, and so does the model.
      const names = [...parameters.names].sort()
      const mark = { token: quote }
      return {
        sequence: [
          `call:${tool}{`,
          parameters.inOrder(
            (key, schema) => ({ sequence: [`${key}:`, spelled(schema, mark, parameters)] }),
            ',',
            names,
          ),
          '}',
        ],
      }
    }),
    spell: (tool, json) => `call:${tool}${plain(JSON.parse(json || '{}'), quote)}`,
    form: `call:name{parameter:${quote}...${quote}}`,
    reader: (tools) =>
      readerOf(function* (found) {
        yield* readUpTo('call:')
        const tool = yield* readUpTo('{')
        found.name(tool)
        found.add('{')
        yield* members(quote, found.add, namesOfParameters(tools, tool))
        for (;;) yield
      }),
  }
}

/** A value in this notation as far as it goes; what it does not reach is JSON. */
function spelled(schema: JsonObject, mark: TextPart, parameters: Parameters): TextPart {
  const texts = namedTexts(schema)
  if (texts) return { sequence: [mark, { choice: texts }, mark] }
  const text = parameters.text(schema)
  if (text) return { sequence: [mark, text, mark] }
  const { type, items, description: _, title: __, ...more } = schema
  if (type === 'array' && isRecord(items) && isAnyText(items) && Object.keys(more).length === 0) {
    const item = spelled(items, mark, parameters)
    return { sequence: ['[', { choice: ['', { sequence: [item, { repeat: { sequence: [',', item] } }] }] }, ']'] }
  }
  return parameters.value(schema)
}

const plain = (each: unknown, quote: string): string => {
  if (typeof each === 'string') return quote + each + quote
  if (Array.isArray(each)) return `[${each.map((item) => plain(item, quote)).join(',')}]`
  if (!isRecord(each)) return String(each)
  const pairs = Object.keys(each).sort()
  return `{${pairs.map((key) => `${key}:${plain(each[key], quote)}`).join(',')}}`
}

type Reading = Generator<undefined, void, string>

/** The inside of an object, up to its end. */
function* members(quote: string, add: (json: string) => void, names: readonly string[] = []): Reading {
  for (let first = true; ; first = false) {
    const letter: string = yield
    if (letter === '}') break
    if (!first) add(',')
    if (letter === '"' && !names.some((name) => name.startsWith(letter))) {
      yield* text(add)
      yield* readUpTo(':')
    } else add(JSON.stringify(yield* readName(':', names, letter)))
    add(':')
    if ((yield* anything(quote, add, yield)) === '}') break
  }
  add('}')
}

/** One value, whose first letter is given; returns the letter after it. */
function* anything(quote: string, add: (json: string) => void, first: string): Generator<undefined, string, string> {
  if (first === quote[0]) {
    yield* readUpTo(quote.slice(1))
    add('"')
    yield* readUpTo(quote, (text) => add(insideOfString(text)))
    add('"')
    return yield
  }
  let letter = first
  if (letter === '"') {
    yield* text(add)
    return yield
  }
  if (letter === '{' || letter === '[') {
    add(letter)
    if (letter === '{') yield* members(quote, add)
    else yield* list(quote, add)
    return yield
  }
  while (letter !== ',' && letter !== '}' && letter !== ']') {
    add(letter)
    letter = yield
  }
  return letter
}

/** A JSON string behind its first quote. */
function* text(add: (json: string) => void): Reading {
  add('"')
  for (;;) {
    const letter: string = yield
    add(letter)
    if (letter === '"') return
    if (letter === '\\') add(yield)
  }
}

function* list(quote: string, add: (json: string) => void): Reading {
  let letter: string = yield
  while (letter !== ']') {
    letter = yield* anything(quote, add, letter)
    if (letter !== ',') continue
    add(',')
    letter = yield
  }
  add(']')
}

export const FUNCTION_GEMMA: ToolFormat = {
  ...gemma('functiongemma', '<escape>', '<start_function_call>', '<end_function_call>'),
  opening: 'You are a model that can do function calling with the following functions',
}

export const GEMMA4 = gemma('gemma4', '<|"|>', '<|tool_call>', '<tool_call|>')
