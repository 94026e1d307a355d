import { describe, expect, it } from 'vitest'
import { minimal, read, refusedFor } from './request.test-helper.js'

const grammar = (source: object) => ({ type: 'grammar', source })
const schema = { type: 'object' }
const tag = { structures: [], triggers: ['<'] }

describe('what local servers call the form of an answer', () => {
  it.each([
    ['structured_outputs.regex', { structured_outputs: { regex: 'a|b' } }, grammar({ regex: 'a|b' })],
    ['structured_outputs.choice', { structured_outputs: { choice: ['a', 'b'] } }, grammar({ choice: ['a', 'b'] })],
    ['structured_outputs.grammar', { structured_outputs: { grammar: 'start: "a"' } }, grammar({ lark: 'start: "a"' })],
    [
      'structured_outputs.grammar',
      { structured_outputs: { grammar: 'root ::= "a"' } },
      grammar({ gbnf: 'root ::= "a"' }),
    ],
    [
      'structured_outputs.structural_tag',
      { structured_outputs: { structural_tag: JSON.stringify(tag) } },
      grammar({ structuralTag: tag }),
    ],
    ['structured_outputs.json_object', { structured_outputs: { json_object: true } }, { type: 'json_object' }],
    ['guided_regex', { guided_regex: 'a' }, grammar({ regex: 'a' })],
    ['guided_choice', { guided_choice: ['a'] }, grammar({ choice: ['a'] })],
    ['guided_grammar', { guided_grammar: 'root ::= "a"' }, grammar({ gbnf: 'root ::= "a"' })],
    ['grammar', { grammar: 'root ::= "a"' }, grammar({ gbnf: 'root ::= "a"' })],
    ['regex', { regex: 'a' }, grammar({ regex: 'a' })],
    ['ebnf', { ebnf: 'root ::= "a"' }, grammar({ gbnf: 'root ::= "a"' })],
    ['format', { format: 'json' }, { type: 'json_object' }],
    ...[
      ['structured_outputs.json', { structured_outputs: { json: schema } }],
      ['guided_json', { guided_json: JSON.stringify(schema) }],
      ['json_schema', { json_schema: schema }],
      ['format', { format: schema }],
    ].map(([field, body]) => [field, body, { type: 'json_schema', name: 'schema', strict: true, schema }]),
  ] as [string, object, object][])('%s', (field, body, output) => {
    expect(read(body)).toMatchObject({ output, outputField: field, ignored: [] })
  })

  it('is absent where nothing is asked', () => {
    expect(read({ guided_json: null })).toEqual(read({}))
  })

  it.each([
    [{ structured_outputs: {} }, 'structured_outputs'],
    [{ structured_outputs: { json: '{' } }, 'structured_outputs.json'],
    [{ structured_outputs: { regex: 5 } }, 'structured_outputs.regex'],
    [{ structured_outputs: { choice: [] } }, 'structured_outputs.choice'],
    [{ structured_outputs: { choice: ['a', 1] } }, 'structured_outputs.choice[1]'],
    [{ structured_outputs: { structural_tag: '[]' } }, 'structured_outputs.structural_tag'],
    [{ structured_outputs: { regex: 'a', whitespace_pattern: ' ' } }, 'structured_outputs.whitespace_pattern'],
    [{ structured_outputs: { regex: 'a', choice: ['a'] } }, 'structured_outputs.choice'],
    [{ regex: ['a'] }, 'regex'],
    [{ format: 'yaml' }, 'format'],
    [{ ebnf: 'root ::= "a"', regex: 'a' }, 'ebnf'],
    [{ guided_regex: 'a', structured_outputs: { regex: 'a' } }, 'guided_regex'],
    [{ guided_regex: 'a', response_format: { type: 'json_object' } }, 'guided_regex'],
  ])('%j is refused with an error that names its field', (body, field) => {
    expect(refusedFor({ ...minimal, ...body })).toBe(field)
  })
})

describe('how JSON is laid out', () => {
  const json = { response_format: { type: 'json_object' } }

  it.each([
    [{ layout: 'spaced' }, 'spaced'],
    [{ layout: { indent: 2 } }, { indent: 2 }],
    [{ layout: { indent: '\t' } }, { indent: '\t' }],
    [{ layout: { whitespace: 20 } }, { whitespace: 20 }],
    [{ guided_whitespace_pattern: '' }, 'compact'],
    [{ layout: { whitespace: 2, of: ' ' } }, { whitespace: 2, of: ' ' }],
    [{ guided_whitespace_pattern: '[ \\n\\t]{0,20}' }, { whitespace: 20, of: ' \n\t' }],
    [{ guided_whitespace_pattern: '[\\n ]{,4}' }, { whitespace: 4, of: '\n ' }],
    [{ guided_whitespace_pattern: '\\s?' }, { whitespace: 1, of: ' \t\n\r' }],
    [{ guided_whitespace_pattern: '[ ]?' }, { whitespace: 1, of: ' ' }],
    [{ guided_whitespace_pattern: ' ?' }, { whitespace: 1, of: ' ' }],
  ] as [object, unknown][])('%j', (body, layout) => {
    expect(read({ ...json, ...body })).toMatchObject({ output: { type: 'json_object', layout }, ignored: [] })
  })

  it('is vLLM’s in structured_outputs too', () => {
    const structured_outputs = { json: schema, whitespace_pattern: '[\\n ]{0,4}' }
    expect(read({ structured_outputs })).toMatchObject({ output: { schema, layout: { whitespace: 4, of: '\n ' } } })
  })

  it.each([
    ['layout', { ...json, layout: 'pretty' }],
    ['layout', { ...json, layout: { indent: 2, whitespace: 3 } }],
    ['layout.whitespace', { ...json, layout: { whitespace: 1000 } }],
    ['guided_whitespace_pattern', { ...json, guided_whitespace_pattern: '[\\n\\t ]*' }],
    ['guided_whitespace_pattern', { ...json, guided_whitespace_pattern: 'x?' }],
    ['layout', { ...json, layout: { whitespace: 3, of: 'x' } }],
    ['layout', { ...json, layout: { indent: 3, of: ' ' } }],
    ['guided_whitespace_pattern', { ...json, layout: 'spaced', guided_whitespace_pattern: '' }],
    ['layout', { layout: 'spaced' }],
    ['layout', { guided_regex: 'a', layout: 'spaced' }],
  ] as [string, object][])('is refused by %s: %j', (field, body) => {
    expect(refusedFor({ ...minimal, ...body })).toBe(field)
  })
})
