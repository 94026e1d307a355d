import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TOOL_FORMATS, toolFormatOf } from './formats.js'
import { HERMES } from './hermes.js'

describe.each(TOOL_FORMATS.map((format) => [format.name, format] as const))('%s', (_, format) => {
  it('takes apart what it spells, wherever that is cut', () => {
    const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/)
    const json = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.constant({ a: [{}] })))
    fc.assert(
      fc.property(name, json, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (called, value, cuts) => {
        const written = JSON.stringify(value)
        const reader = format.reader()
        const names: string[] = []
        let told = ''
        const spelled = format.spell(called, written)
        for (let at = 0, i = 0; at < spelled.length; i++) {
          const end = at + cuts[i % cuts.length]!
          const delta = reader.push(spelled.slice(at, end))
          if (delta?.name !== undefined) names.push(delta.name)
          told += delta?.arguments ?? ''
          at = end
        }
        expect(names).toEqual([called])
        expect(told).toBe(written)
      }),
    )
  })

  it('is asked for in the form in which it is spelled', () => {
    expect(format.form).toBe(format.spell('...', '{...}'))
  })
})

it.each([
  ['{{ messages }}', 'plain'],
  ['{% if tools %}[TOOL_CALLS]{% endif %}', 'mistral'],
  ['{% if tools %}Environment: ipython {"name": "", "parameters": {}}{% endif %}', 'llama'],
  ['{% if tools %}<tool_call>{% endif %}', 'hermes'],
  ['{% for tool in tools %}{% endfor %}', 'hermes'],
])('a template %s is of the family %s', (template, name) => {
  expect(toolFormatOf(template).name).toBe(name)
})

it('every family has a name of its own, and the last takes what no other does', () => {
  expect(TOOL_FORMATS.at(-1)).toBe(HERMES)
  expect(new Set(TOOL_FORMATS.map(({ name }) => name)).size).toBe(TOOL_FORMATS.length)
})
