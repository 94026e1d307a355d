import { describe, expect, it } from 'vitest'
import { minimal, read, refusedFor, schema, tool } from './request.test-helper.js'
import { readBesideHosted } from './tools.js'

describe('tools', () => {
  const tools = [tool, { type: 'function', function: { name: 'clock', strict: true, parameters: schema } }]
  const refused = (body: object) => refusedFor({ ...minimal, ...body })

  it('are called freely unless the request chooses', () => {
    expect(read({ tools })).toMatchObject({
      toolChoice: 'auto',
      parallelToolCalls: true,
      tools: [{ strict: false }, { strict: true }],
    })
    expect(read({ tools, tool_choice: 'required', parallel_tool_calls: false })).toMatchObject({
      toolChoice: 'required',
      parallelToolCalls: false,
    })
    expect(read({ tools, tool_choice: { type: 'function', function: { name: 'clock' } } })).toMatchObject({
      toolChoice: { name: 'clock' },
      // One call of it, not several.
      parallelToolCalls: false,
    })
    expect(read({ tool_choice: 'none' }).toolChoice).toBe('none')
  })

  it('may be narrowed down', () => {
    const only = {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'clock' } }] },
    }
    expect(read({ tools, tool_choice: only })).toMatchObject({ toolChoice: 'required', tools: [{ name: 'clock' }] })
  })

  it('without parameters take an empty object', () => {
    const [bare] = read({ tools: [{ type: 'function', function: { name: 'now' } }] }).tools
    expect(bare!.parameters).toEqual({ type: 'object', properties: {}, additionalProperties: false })
  })

  it('take an object, whether their parameters say so or not', () => {
    const taken = (parameters: object) =>
      read({ tools: [{ type: 'function', function: { name: 'a', parameters } }] }).tools[0]!.parameters
    expect(taken({})).toEqual({ type: 'object' })
    expect(taken({ anyOf: [schema] })).toEqual({ anyOf: [schema], type: 'object' })
    expect(taken({ type: ['null', 'object'] })).toEqual({ type: 'object' })
    expect(taken({ type: 'object', properties: null, required: null })).toEqual({ type: 'object' })
    const listed = { tools: [{ type: 'function', function: { name: 'a', parameters: { type: 'array' } } }] }
    expect(refused(listed)).toBe('tools[0].function.parameters')
  })

  it('are none if the list is empty, whatever else the request says about them', () => {
    for (const more of [{}, { tool_choice: 'auto' }, { parallel_tool_calls: false }]) {
      expect(read({ tools: [], ...more })).toMatchObject({ tools: [], toolChoice: 'none' })
    }
  })

  it.each<[string, object]>([
    ['tool_choice', { tools: [], tool_choice: 'required' }],
    ['tools', { tools: Array.from({ length: 129 }, () => tool) }],
    ['tools[0]', { tools: ['weather'] }],
    ['tools[0].type', { tools: [{ type: 'hosted', hosted: { name: 'x' } }] }],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'two words' } }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: 'x'.repeat(65) } }] }],
    ['tools[0].function.parameters', { tools: [{ type: 'function', function: { name: 'a', parameters: 'x' } }] }],
    ['tools[0].function.strict', { tools: [{ type: 'function', function: { name: 'a', strict: 'yes' } }] }],
    [
      'tools[0].function.allowed_callers',
      { tools: [{ type: 'function', function: { name: 'a', allowed_callers: ['programmatic'] } }] },
    ],
    ['tools[1].function.name', { tools: [tool, tool] }],
    ['tool_choice', { tool_choice: 'auto' }],
    ['tool_choice', { tools, tool_choice: 'sometimes' }],
    ['tool_choice', { tools, tool_choice: 5 }],
    ['tool_choice.type', { tools, tool_choice: { type: 'hosted' } }],
    ['tool_choice.function.name', { tools, tool_choice: { type: 'function', function: { name: 'other' } } }],
    [
      'tool_choice.allowed_tools.mode',
      { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'x', tools: [tool] } } },
    ],
    ['parallel_tool_calls', { parallel_tool_calls: true }],
    ['parallel_tool_calls', { tools, parallel_tool_calls: 1 }],
  ])('are refused for %s', (param, body) => {
    expect(refused(body)).toBe(param)
  })
})

it('are each compared by name with none of the others, however many a namespace brings', () => {
  let asked = 0
  const named = (i: number) => ({
    get name() {
      asked++
      return `tool_${i}`
    },
    parameters: {},
    strict: false,
  })
  const several = (_: object, path: string) =>
    Array.from({ length: 100 }, (_, i) => named(i + 100 * Number(path.slice(6, -1))))
  const { tools } = readBesideHosted(
    Array.from({ length: 10 }, () => ({})),
    'tools',
    several,
  )
  expect(asked).toBeLessThan(10 * tools.length)
  expect(tools).toHaveLength(1000)
})
