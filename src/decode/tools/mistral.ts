import { callGrammar } from './call-grammar.js'
import type { ToolFormat } from './format.js'
import { JSON_CALL } from './json-call.js'
import { readerOf, upTo } from './letters.js'

/** Mistral up to 2024: a list of calls behind one marker. */
export const MISTRAL: ToolFormat = {
  ...JSON_CALL,
  name: 'mistral',
  isOf: (template) => template.includes('[TOOL_CALLS]'),
  open: '[TOOL_CALLS] [',
  close: ']',
  native: true,
}

const ARGS = '[ARGS]'

/** Mistral since 2025: a marker for each call, and a control token between its name and its arguments. */
export const MISTRAL_ARGS: ToolFormat = {
  name: 'mistral-args',
  isOf: (template) => template.includes('[TOOL_CALLS]') && template.includes(ARGS),
  open: '[TOOL_CALLS]',
  close: '',
  between: '',
  marks: [ARGS],
  native: true,
  grammar: callGrammar((name, parameters) => ({ sequence: [name, { token: ARGS }, parameters.whole] })),
  spell: (name, json) => `${name}${ARGS}${json || '{}'}`,
  form: `name${ARGS}{...}`,
  reader: () =>
    readerOf(function* (found) {
      found.name(yield* upTo(ARGS))
      for (;;) found.add(yield)
    }),
}
