import { callGrammar } from './call-grammar.js'
import type { ToolFormat } from './format.js'
import { JSON_CALL } from './json-call.js'
import { readerOf, readUpTo } from './letters.js'

/** Its templates raise an error for any other than nine letters and digits. */
const callId = (id: string): string =>
  id
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(-9)
    .padStart(9, '0')

/** Mistral up to 2024: a list of calls behind one marker. */
export const MISTRAL: ToolFormat = {
  ...JSON_CALL,
  name: 'mistral',
  isOf: (template) => template.includes('[TOOL_CALLS]'),
  open: '[TOOL_CALLS] [',
  close: ']',
  separator: ', ',
  native: true,
  callId,
}

const ARGS = '[ARGS]'
const CALL_ID = '[CALL_ID]'

/** Mistral since 2025: a marker for each call, and a control token between its name and its arguments. */
export const MISTRAL_ARGS: ToolFormat = {
  name: 'mistral-args',
  isOf: (template) => template.includes('[TOOL_CALLS]') && template.includes(ARGS),
  open: '[TOOL_CALLS]',
  close: '',
  between: '',
  marks: [ARGS],
  native: true,
  callId,
  grammar: callGrammar((name, parameters) => ({ sequence: [name, { token: ARGS }, parameters.whole] })),
  spell: (name, json) => `${name}${ARGS}${json || '{}'}`,
  form: `name${ARGS}{...}`,
  reader: () =>
    readerOf(function* (found) {
      found.name(yield* readUpTo(ARGS))
      for (;;) found.add(yield)
    }),
}

/** Mistral of mid-2025: with an id between the two, which nobody needs: a call is told under one of ours. */
export const MISTRAL_IDS: ToolFormat = {
  ...MISTRAL_ARGS,
  name: 'mistral-ids',
  isOf: (template) => MISTRAL_ARGS.isOf(template) && template.includes(CALL_ID),
  marks: [CALL_ID, ARGS],
  grammar: callGrammar((name, parameters) => ({
    sequence: [name, { token: CALL_ID }, { regex: '[a-zA-Z0-9]{9}' }, { token: ARGS }, parameters.whole],
  })),
  spell: (name, json) => `${name}${CALL_ID}${callId('')}${ARGS}${json || '{}'}`,
  form: `name${CALL_ID}...${ARGS}{...}`,
  reader: () =>
    readerOf(function* (found) {
      found.name(yield* readUpTo(CALL_ID))
      yield* readUpTo(ARGS)
      for (;;) found.add(yield)
    }),
}
