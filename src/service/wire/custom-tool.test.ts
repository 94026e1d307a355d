import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scripted } from '../../engines/scripted.js'
import { errorOf, finish, jsonOf, MODEL, serviceOf } from '../v1.test-helper.js'
import { argumentsOf, CallInput } from './tools.js'

describe('what a call says', () => {
  it('is read out of its arguments, wherever they are cut and however they are escaped', () => {
    const letter = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.constantFrom('"', '\\', '\n', '\u0001'),
    )
    const escaped = fc.tuple(letter, fc.boolean()).map(([text, long]) => ({
      text,
      json: long
        ? [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
        : JSON.stringify(text).slice(1, -1),
    }))
    fc.assert(
      fc.property(fc.array(escaped), fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (letters, cuts) => {
        const written = `{ "input" : "${letters.map(({ json }) => json).join('')}" }`
        const input = new CallInput()
        let reported = ''
        for (let at = 0, i = 0; at < written.length; i++) {
          const end = at + cuts[i % cuts.length]!
          const piece = input.push(written.slice(at, end))
          expect(piece).not.toMatch(/\p{Surrogate}/u)
          reported += piece
          at = end
        }
        const whole = letters.map(({ text }) => text).join('')
        expect([reported, input.text]).toEqual([whole, whole])
        expect(new CallInput().push(argumentsOf(whole))).toBe(whole)
      }),
    )
  })
})

describe('a custom tool of a chat', () => {
  const tool = {
    type: 'custom',
    custom: {
      name: 'sum',
      format: { type: 'grammar', grammar: { syntax: 'regex', definition: '[0-9]+\\+[0-9]+\\n' } },
    },
  }
  const pieces = ['{"input":"1', '2+3\\', 'n"}'].map((text, i) => ({
    type: 'tool-call-delta' as const,
    choice: 0,
    index: 0,
    ...(i === 0 && { id: 'call_1', name: 'sum' }),
    arguments: text,
  }))
  const service = () => serviceOf(scripted({ models: { [MODEL]: [...pieces, finish('tool_calls')] } }))
  const request = { tools: [tool], tool_choice: { type: 'custom', custom: { name: 'sum' } } }

  it('is sent as a text, whole and in pieces alike', async () => {
    const { choices } = jsonOf(await service().chat(request))
    const whole = { id: 'call_1', type: 'custom', custom: { name: 'sum', input: '12+3\n' } }
    expect(choices[0].message.tool_calls).toEqual([whole])
    // The official description of chunks knows functions alone; the official client reads both.
    const frames = (await service().chat({ ...request, stream: true })).text.split('\n\n').slice(0, -2)
    const deltas = frames.flatMap((frame) => JSON.parse(frame.slice(6)).choices[0]?.delta.tool_calls ?? [])
    expect(deltas[0]).toEqual({ index: 0, id: 'call_1', type: 'custom', custom: { name: 'sum', input: '1' } })
    expect(deltas.map(({ custom }: { custom: { input: string } }) => custom.input).join('')).toBe('12+3\n')
  })

  it('has its result at once: `async`, which responses know, is named as ignored', async () => {
    const later = { ...request, tools: [{ ...tool, custom: { ...tool.custom, async: true } }] }
    expect((await service().chat(later)).headers.get('x-ignored-fields')).toBe('tools[0].custom.async')
  })

  it('comes back in a conversation', async () => {
    const { chat } = service()
    const messages = [
      { role: 'user', content: 'Add.' },
      { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'custom', custom: { name: 'sum', input: '12+3\n' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: '15' },
    ]
    expect((await chat({ ...request, messages })).status).toBe(200)
  })

  it.each([
    [{ tools: [{ type: 'custom', custom: {} }] }, 'tools[0].custom.name'],
    [{ tools: [{ type: 'custom', custom: { name: 'a', format: { type: 'poem' } } }] }, 'tools[0].custom.format.type'],
    [
      { tools: [{ type: 'custom', custom: { name: 'a', format: { type: 'grammar', grammar: { syntax: 'lark' } } } }] },
      'tools[0].custom.format.grammar.definition',
    ],
    [{ tools: [tool], tool_choice: { type: 'function', function: { name: 'sum' } } }, 'tool_choice.function.name'],
    [
      {
        tools: [
          { type: 'custom', custom: { name: 'a', format: { type: 'grammar', syntax: 'regex', definition: '(' } } },
        ],
      },
      'tools[0].custom.format',
    ],
  ])('is refused by its field: %j', async (body, param) => {
    const answer = await service().chat(body)
    expect([answer.status, errorOf(answer).param]).toEqual([400, param])
  })
})
