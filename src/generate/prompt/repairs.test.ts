import { describe, expect, it, vi } from 'vitest'
import { lateAsUserTurns } from './messages.js'
import { oneCallATurn } from './repairs.js'
import { JinjaTemplate } from './template.js'

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })
const call = (id: string) => ({ id, type: 'function' as const, function: { name: `do_${id}`, arguments: { x: 1 } } })
const calls = (...ids: string[]) => ({ role: 'assistant', content: '', tool_calls: ids.map(call) })
const result = (id: string) => ({ role: 'tool', content: `result ${id}`, tool_call_id: id, name: `do_${id}` })

const TURN = `<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}[{{ c.function.name }}]{% endfor %}`
/** As Gemma's demands it: every other message is the user's. */
const ALTERNATES = `{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('must alternate') }}{% endif %}${TURN}{% endfor %}`
/** As Llama 3.2's. */
const ONE_CALL = `{% for m in messages %}{% if m.tool_calls and m.tool_calls | length != 1 %}{{ raise_exception('single tool-calls') }}{% endif %}${TURN}{% endfor %}`
/** As Mistral's: tools and calls do not count. */
const MISTRAL = `{% set ns = namespace(i=0) %}{% for m in messages %}{% if m.role == 'user' or (m.role == 'assistant' and not m.tool_calls) %}{% if (m.role == 'user') != (ns.i % 2 == 0) %}{{ raise_exception('must alternate') }}{% endif %}{% set ns.i = ns.i + 1 %}{% endif %}${TURN}{% endfor %}`

function written(source: string, messages: Parameters<JinjaTemplate['render']>[0]['messages']): string {
  return new JinjaTemplate(source, {}).render({ messages, tools: [], options: {} })
}

describe('a conversation that a template refuses', () => {
  it('has neighbours of one role in one turn, where turns must alternate', () => {
    expect(written(ALTERNATES, [user('a'), user('b'), assistant('c'), user('d')])).toBe(
      '<user>a\n\nb<assistant>c<user>d',
    )
  })

  it('has a thousand neighbours in one turn without writing all of them anew for each', () => {
    const messages = Array.from({ length: 1000 }, (_, i) => user(`word ${i}`))
    const joins = vi.spyOn(Array.prototype, 'join')
    try {
      const text = written(ALTERNATES, messages)
      expect(text).toContain('word 998\n\nword 999')
      const characters = joins.mock.results.reduce((sum, { value }) => sum + (value as string).length, 0)
      expect(characters).toBeLessThan(20 * text.length)
    } finally {
      joins.mockRestore()
    }
  })

  it('is mended with pauses', () => {
    const work = new JinjaTemplate(ALTERNATES, {}).renderInSlices({
      messages: [user('a'), user('b')],
      tools: [],
      options: {},
    })
    let pauses = 0
    while (!work.next().done) pauses++
    // One for each way to say it in another way, at least.
    expect(pauses).toBeGreaterThanOrEqual(7)
  })

  it('has all its words also where a template leaves no empty lines', () => {
    const source = ALTERNATES.replace('{{ m.content }}', "{{ m.content.replace('\\n\\n', '\\n') }}")
    expect(written(source, [user('a'), user('b'), assistant('c'), user('d')])).toBe('<user>a\nb<assistant>c<user>d')
  })

  it('has an empty turn of the user before it, where the model spoke first', () => {
    expect(written(ALTERNATES, [assistant('a'), user('b')])).toBe('<user><assistant>a<user>b')
  })

  it('has each call with its own result behind it, where a turn has one call', () => {
    expect(written(ONE_CALL, [user('a'), calls('1', '2'), result('1'), result('2'), user('b')])).toBe(
      '<user>a<assistant>[do_1]<tool>result 1<assistant>[do_2]<tool>result 2<user>b',
    )
  })

  it('is looked for as its results are spelled, and not each in all of the text', () => {
    const source = ONE_CALL.replace(
      '{{ m.content }}',
      '{% if m.role == "tool" %}{{ m.content | tojson }}{% else %}{{ m.content }}{% endif %}',
    )
    const results = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        ...result(`${i}`),
        content: `{"number ${i}": "${'word '.repeat(40)}"}`,
      }))
    const looked = (count: number) => {
      const ids = Array.from({ length: count }, (_, i) => `${i}`)
      let characters = 0
      const { indexOf } = String.prototype
      vi.spyOn(String.prototype, 'indexOf').mockImplementation(function (this: string, wanted, from = 0) {
        const at = indexOf.call(this, wanted, from)
        characters += (at < 0 ? this.length : at) - from
        return at
      })
      try {
        const text = written(source, [user('a'), calls(...ids), ...results(count), user('b')])
        expect(text).toContain(`{\\"number ${count - 1}\\"`)
        return characters
      } finally {
        vi.restoreAllMocks()
      }
    }
    expect(looked(200)).toBeLessThan(3 * looked(100))
  })

  it('has a thousand calls and results, each looked up and not compared with all', () => {
    const ids = Array.from({ length: 1000 }, (_, i) => `c${i}`)
    let asked = 0
    const results = ids.toReversed().map((id) => ({
      ...result(id),
      get tool_call_id() {
        asked++
        return id
      },
    }))
    const turns = oneCallATurn([user('a'), calls(...ids), ...results, result('of nobody'), user('b')])
    const pairs = ids.flatMap((id) => [`do_${id}`, `result ${id}`])
    expect(turns.map((turn) => turn.tool_calls?.[0]?.function.name ?? turn.content)).toEqual([
      'a',
      ...pairs,
      'result of nobody',
      'b',
    ])
    expect(asked).toBe(ids.length)
    const compared = vi.spyOn(Array.prototype, 'includes')
    lateAsUserTurns([calls(...ids), ...results])
    expect(compared).not.toHaveBeenCalled()
    compared.mockRestore()
  })

  it('has an answer between a result and what the user says then, where both are the user’s turn', () => {
    expect(written(MISTRAL, [user('a'), calls('1'), result('1'), user('b')])).toBe(
      '<user>a<assistant>[do_1]<tool>result 1<assistant><user>b',
    )
  })

  it('loses no word: what has some of them left out is not taken', () => {
    const source = `{% for m in messages %}{% if m.tool_calls is not defined %}{{ raise_exception('no') }}{% endif %}{% endfor %}`
    expect(() => written(source, [user('a')])).toThrow('no')
  })
})

describe('what a template passes over', () => {
  it('is told by the user: what came of calls, where it writes no such message', () => {
    const source = `{{ tools }}{% for m in messages %}{% if m.role != 'tool' %}${TURN}{% endif %}{% endfor %}`
    expect(written(source, [user('a'), calls('1'), result('1')])).toBe(
      'None<user>a<assistant>[do_1]<user><tool_response>\nresult 1\n</tool_response>',
    )
    // Alone, and where other calls have theirs at their place.
    const behind = `{% for m in messages %}{% if m.role != 'tool' %}${TURN}{% for r in messages[loop.index:] %}{% if r.role != 'tool' %}{% break %}{% endif %}{% if m.tool_calls %}{{ r.content }}{% endif %}{% endfor %}{% endif %}{% endfor %}`
    const later = [user('a'), calls('1', '2'), result('1'), user('b'), result('2'), user('c'), result('2')]
    const late = '<user><tool_response>\ndo_2:\nresult 2\n</tool_response>'
    expect(written(behind, later)).toBe(`<user>a<assistant>[do_1][do_2]result 1<user>b${late}<user>c${late}`)
    const { name: _, ...nameless } = result('2')
    expect(written(behind, [user('a'), nameless])).toBe('<user>a<user><tool_response>\nresult 2\n</tool_response>')
    expect(written(`{% for m in messages %}${TURN}{% endfor %}`, later)).toContain('<user>b<tool>result 2<user>c<tool>')
    const known = `{% for m in messages %}{% if m.role != 'tool' or tools %}${TURN}{% endif %}{% endfor %}`
    expect(written(known, [user('a'), calls('1'), result('1')])).not.toContain('<tool_response>')
  })

  it('is put where it is read: a system message into the user’s', () => {
    const source = `{% for m in messages %}{% if m.role != 'system' %}${TURN}{% endif %}{% endfor %}`
    expect(written(source, [{ role: 'system', content: 's' }, user('a')])).toBe('<user>s\n\na')
  })

  it('is what the user says, where nobody but the system speaks', () => {
    const system = { role: 'system', content: 's' }
    const passes = `{% for m in messages %}{% if m.role != 'system' %}${TURN}{% endif %}{% endfor %}`
    const refuses = `{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}${ALTERNATES}`
    for (const source of [passes, refuses]) {
      expect(written(source, [system])).toBe('<user>s')
      expect(written(source, [system, { ...system, content: 't' }, assistant('a')])).toBe('<user>s\n\nt<assistant>a')
    }
  })
})

describe('what stands in a place that a template does not look at', () => {
  it('is a second system message, if turns must alternate', () => {
    const source = `{% if messages[0].role == 'system' %}<{{ messages[0].content }}>{% set messages = messages[1:] %}{% endif %}${ALTERNATES.replace(TURN, `{% if m.role != 'system' %}${TURN}{% endif %}`)}`
    const system = (content: string) => ({ role: 'system', content })
    expect(written(source, [system('s'), user('a'), system('t'), user('b')])).toBe('<user>s\n\nt\n\na\n\nb')
    expect(written(source, [system('s'), user('a'), assistant('b'), system('t'), user('c')])).toBe(
      '<user>s\n\nt\n\na<assistant>b<user>c',
    )
  })

  it('is a system message, if the template writes one only before the last user message', () => {
    const source = `{% for m in messages %}{% if m.role != 'system' %}{% if loop.last and m.role == 'user' %}<{{ messages[0].content }}>{% endif %}${TURN}{% endif %}{% endfor %}`
    const system = { role: 'system', content: 'Be kind.' }
    expect(written(source, [system, user('a')])).toBe('<Be kind.><user>a')
    expect(written(source, [system, user('a'), calls('1'), result('1')])).toBe(
      '<user>Be kind.\n\na<assistant>[do_1]<tool>result 1',
    )
  })

  it('is the second of two calls, if a turn can have only one', () => {
    const source = `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}[{{ m.tool_calls[0].function.name }}]{% endif %}{% endfor %}`
    expect(written(source, [user('a'), calls('1', '2'), result('1'), result('2')])).toBe(
      '<user>a<assistant>[do_1]<tool>result 1<assistant>[do_2]<tool>result 2',
    )
  })
})

describe('a template that tells of tools in the first message, as the user’s', () => {
  const tool = { type: 'function' as const, function: { name: 'do_1', description: '', parameters: {} } }
  const source = `{% if tools %}<user>tools {{ messages[0].content }}{% set messages = messages[1:] %}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}`
  const rendered = (tools: (typeof tool)[], ...messages: Parameters<typeof written>[1]) =>
    new JinjaTemplate(source, {}).render({ messages, tools, options: {} })

  it('is given an empty one, where the model spoke first', () => {
    expect(rendered([tool], calls('1'), result('1'))).toBe('<user>tools <assistant>{"x": 1}<tool>result 1')
    expect(rendered([tool], assistant('a'), user('b'))).toBe('<user>tools <assistant>a<user>b')
  })

  it('is given the messages as they are, where the user did, or there are no tools', () => {
    expect(rendered([tool], user('a'), assistant('b'))).toBe('<user>tools a<assistant>b')
    expect(rendered([], assistant('a'), user('b'))).toBe('<assistant>a<user>b')
  })
})

describe('a template for tools alone', () => {
  it('is given none where there are none', () => {
    expect(
      written(`{% for t in tools %}{{ t }}{% endfor %}{% for m in messages %}${TURN}{% endfor %}`, [user('a')]),
    ).toBe('<user>a')
  })

  it('has another beside it for conversations without them', () => {
    const template = new JinjaTemplate('with {{ messages[0].content }}', {}, 'without {{ messages[0].content }}')
    const tool = { type: 'function' as const, function: { name: 'f', description: '', parameters: {} } }
    expect(template.render({ messages: [user('a')], tools: [], options: {} })).toBe('without a')
    expect(template.render({ messages: [user('a')], tools: [tool], options: {} })).toBe('with a')
  })
})
