import { callGrammar } from './call-grammar.js'
import type { ToolFormat } from './format.js'
import { JSON_CALL } from './json-call.js'

/** Phi-4-mini. */
export const PHI4: ToolFormat = {
  ...JSON_CALL,
  name: 'phi4',
  isOf: (template) =>
    template.includes('functools[') || (template.includes('<|tool|>') && !template.includes('<|tool_call|>{')),
  open: 'functools[',
  close: ']',
  separator: ', ',
  native: true,
}

/** Phi-4-mini with the template that its conversions for llama.cpp have: a tag for each call. */
export const PHI4_TAGS: ToolFormat = {
  ...JSON_CALL,
  name: 'phi4-tags',
  isOf: (template) => template.includes('<|tool|>') && template.includes('<|tool_call|>{'),
  open: '<|tool_call|>',
  close: '<|/tool_call|>',
  between: '',
  native: true,
}

/** xLAM 2: an answer is talk, or a list of calls and nothing else. */
export const XLAM: ToolFormat = {
  ...JSON_CALL,
  name: 'xlam',
  isOf: (template) => template.includes('calls in a single JSON array'),
  open: '[',
  close: ']',
  separator: ', ',
  bare: '[{"name":',
  native: true,
  // As its template spells them.
  grammar: callGrammar((name, parameters) => ({
    sequence: [`{"name": ${JSON.stringify(name)}, "arguments": `, parameters.whole, '}'],
  })),
  spell: (name, json) => `{"name": ${JSON.stringify(name)}, "arguments": ${json || '{}'}}`,
  form: '{"name": "...", "arguments": {...}}',
}

/** Granite 3. */
export const GRANITE: ToolFormat = {
  ...JSON_CALL,
  name: 'granite',
  isOf: (template) => template.includes('<|tool_call|>') && !template.includes('<|tool|>'),
  open: '<|tool_call|>[',
  close: ']',
  separator: ', ',
  native: true,
}
