import { describe, expect, it } from 'vitest'
import { textsJoined } from '../../contract/engine.js'
import { minimal, read, refusedFor, user } from './request.test-helper.js'

const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }
const calling = { role: 'assistant', content: null, tool_calls: [call] }

describe('messages', () => {
  const messages = (...list: unknown[]) => read({ messages: list }).messages
  const refused = (...list: unknown[]) => refusedFor({ ...minimal, messages: list })

  it('have five roles; developer means system', () => {
    const answered = { role: 'tool', tool_call_id: 'call_1', content: '12 °C' }
    const list = [{ role: 'system', content: 'a' }, { role: 'developer', content: 'b' }, user, calling, answered]
    expect(messages(...list)).toEqual([
      { role: 'system', content: 'a' },
      { role: 'system', content: 'b' },
      user,
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{}' }] },
      { role: 'tool', content: '12 °C', toolCallId: 'call_1' },
    ])
  })

  it('may come in parts, which are kept apart', () => {
    const parts = [
      { type: 'text', text: 'Summarise:' },
      { type: 'text', text: 'Once' },
    ]
    const [read] = messages({ role: 'user', content: parts })
    expect(read!.content).toBe('Summarise:\nOnce')
    // By these their places are told.
    expect(textsJoined('Summarise:\nOnce', read!.joined!)).toEqual(['Summarise:', 'Once'])
    const refusal = { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }
    expect(messages(user, refusal)[1]!.content).toBe('No.')
    expect(messages(user, { role: 'assistant', content: null, refusal: 'No.' })[1]!.content).toBe('No.')
  })

  it('may have come to thoughts alone', () => {
    const thought = messages(user, { role: 'assistant', content: null, reasoning: 'Hm.' }, user)
    expect(thought[1]).toEqual({ role: 'assistant', content: '', reasoning: 'Hm.' })
  })

  it('of a tool may hold what nobody can read here, of which the model is told', () => {
    const parts = [
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      { type: 'text', text: 'A map.' },
      { type: 'file', file: { file_id: 'f' } },
    ]
    const [, , result] = messages(user, calling, { role: 'tool', tool_call_id: 'call_1', content: parts })
    expect(result!.content).toBe('[Images cannot be read here.]\nA map.\n[Files cannot be read here.]')
  })

  it('are accepted in the forms of other servers and frameworks', () => {
    const empty = { role: 'assistant', content: '' }
    // vLLM tells every field, `exclude_none` none.
    const unset = { ...{ refusal: null, annotations: null, audio: null, function_call: null }, tool_calls: [] }
    for (const fields of [{}, { content: null }, { content: [] }, { content: null, ...unset }])
      expect(messages(user, { role: 'assistant', ...fields }, user)[1]).toEqual(empty)
    const bare = { id: 'call_1', function: { name: 'weather', arguments: { city: 'Bern' } } }
    const results = [
      null,
      [],
      [
        { type: 'resource', uri: 'x' },
        { type: 'text', text: 'Sun.' },
      ],
    ].map(
      (content) =>
        messages(
          user,
          { ...calling, tool_calls: [bare] },
          { role: 'tool', tool_call_id: 'call_1', name: 'a/b', content },
        )[2],
    )
    const cannot = '[Something of the type resource, which cannot be read here.]'
    expect(results.map((result) => result!.content)).toEqual(['', '', `${cannot}\nSun.`])
    const [, call] = messages(
      user,
      { ...calling, tool_calls: [bare] },
      { role: 'tool', tool_call_id: 'call_1', content: '' },
    )
    expect(call).toMatchObject({ toolCalls: [{ name: 'weather', arguments: '{"city":"Bern"}' }] })
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
      { type: 'reasoning', text: 'So.' },
      { type: 'text', text: 'Yes.' },
    ]
    expect(messages(user, { role: 'assistant', content: parts })[1]).toMatchObject({
      content: 'Yes.',
      reasoning: 'Hm.\nSo.',
    })
  })

  it.each<[string, unknown]>([
    ['messages[0].role', { content: 'x' }],
    ['messages[0].role', { role: 'function', content: 'x', name: 'f' }],
    ['messages[0].content', { role: 'user' }],
    ['messages[0].content', { role: 'user', content: null }],
    ['messages[0].content', { role: 'user', content: [] }],
    ['messages[0].content', { role: 'user', content: 'half \ud800' }],
    ['messages[0].content[0]', { role: 'user', content: ['x'] }],
    ['messages[0].content[0].type', { role: 'user', content: [{ text: 'x' }] }],
    ['messages[0].content[0].type', { role: 'system', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
    ['messages[0].content[0].type', { role: 'assistant', content: [{ type: 'input_audio' }] }],
    ['messages[0].content[0].image_url', { role: 'user', content: [{ type: 'image_url', image_url: 'x' }] }],
    ['messages[0].content[0].image_url.url', { role: 'user', content: [{ type: 'image_url', image_url: {} }] }],
    ['messages[0].content[0].input_audio', { role: 'user', content: [{ type: 'input_audio' }] }],
    [
      'messages[0].content[0].input_audio.format',
      { role: 'user', content: [{ type: 'input_audio', input_audio: { data: '' } }] },
    ],
    ['messages[0].content[0].type', { role: 'user', content: [{ type: 'file' }] }],
    ['messages[0].content[0].type', { role: 'system', content: [{ type: 'refusal', refusal: 'x' }] }],
    ['messages[0].content[1].text', { role: 'user', content: [{ type: 'text', text: 'x' }, { type: 'text' }] }],
    ['messages[0].name', { role: 'user', content: 'x', name: 'two words' }],
    ['messages[0].audio', { role: 'assistant', content: 'x', audio: { id: 'a' } }],
    ['messages[0].function_call', { role: 'assistant', function_call: { name: 'f', arguments: '' } }],
    ['messages[0].tool_calls', { role: 'assistant', tool_calls: {} }],
    ['messages[0].tool_calls[0].type', { role: 'assistant', tool_calls: [{ id: 'x' }] }],
    ['messages[0].content[0]', { role: 'assistant', content: [{ type: 'thinking', thinking: 5 }] }],
    ['messages[0].tool_calls[0].type', { role: 'assistant', tool_calls: [{ ...call, type: 'hosted' }] }],
    ['messages[0].tool_calls[0].id', { role: 'assistant', tool_calls: [{ ...call, id: undefined }] }],
    ['messages[0].tool_calls[0].function.name', { role: 'assistant', tool_calls: [{ ...call, function: {} }] }],
    ['messages[0].tool_call_id', { role: 'tool', content: 'x' }],
  ])('are refused for %s', (param, message) => {
    expect(refused(message)).toBe(param)
  })

  it('of tools answer the calls before them, and every call is answered', () => {
    const answer = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'x' })
    expect(refused(answer('call_1'))).toBe('messages[0].role')
    expect(refused(user, calling, answer('call_2'))).toBe('messages[2].tool_call_id')
    expect(refused(user, calling)).toBe('messages[1].tool_calls')
    expect(refused(user, calling, user)).toBe('messages[1].tool_calls')
    const two = { ...calling, tool_calls: [call, { ...call, id: 'call_2' }] }
    expect(refused(user, two, answer('call_2'))).toBe('messages[1].tool_calls')
    expect(messages(user, two, answer('call_2'), answer('call_1'), user)).toHaveLength(5)
  })
})
