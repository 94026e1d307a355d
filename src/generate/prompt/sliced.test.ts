import { Template } from '@huggingface/jinja'
import { describe, expect, it } from 'vitest'
import type { ChatCall } from '../../contract/engine.js'
import { ChatText } from '../chat-text.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'
import { JinjaTemplate } from './template.js'

const messages = Array.from({ length: 9 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `text ${i}` }))

/** What templates do with loops and branches, each of them also as the library does it. */
const TEMPLATES = [
  '{% for m in messages %}{{ loop.index }}/{{ loop.length }} {{ m.role }}: {{ m.content }}{% if not loop.last %}, {% endif %}{% endfor %}',
  '{% for m in messages %}{% if loop.first %}[{% else %}{{ loop.previtem.content }}>{% endif %}{{ loop.revindex0 }}{{ loop.nextitem.content }}{% endfor %}',
  '{% for m in messages %}{% if m.role == "assistant" %}{% continue %}{% endif %}{{ m.content }}{% if loop.index > 4 %}{% break %}{% endif %}{% endfor %}',
  '{% for m in [] %}x{% else %}none{% endfor %}{% for m in messages if m.role == "user" %}{{ m.content }}{% endfor %}',
  '{% set ns = namespace(n=0) %}{% for m in messages %}{% for w in m.content.split(" ") %}{% set ns.n = ns.n + 1 %}{{ w }}{% endfor %}{% endfor %}{{ ns.n }}',
  '{% for key, value in messages[0].items() %}{{ key }}={{ value }};{% endfor %}{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}{% for k in messages[0] %}{{ k }}{% endfor %}',
  '{% macro say(m) %}{% for i in range(2) %}<{{ m.content }}>{% endfor %}{% endmacro %}{% if messages %}{% for m in messages[::-1] %}{{ say(m) }}{% endfor %}{% elif none %}x{% endif %}{{ bos_token }}',
  '{% for m in messages %}{% set last = m.content %}{% endfor %}{{ last }}{{ loop }}',
]

describe('a template in slices', () => {
  it.each(TEMPLATES)('writes what the library writes: %s', (source) => {
    const written = new Template(source).render({ messages, add_generation_prompt: true, bos_token: '<s>' })
    expect(new JinjaTemplate(source, { bos_token: '<s>' }).render({ messages, tools: [], options: {} })).toBe(written)
  })

  it('pauses within a conversation, however long it is', () => {
    const many = Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'x' }))
    const work = new JinjaTemplate(TEMPLATES[0]!, {}).renderInSlices({ messages: many, tools: [], options: {} })
    let pauses = 0
    while (!work.next().done) pauses++
    // Of setting its messages alone.
    expect(pauses).toBeGreaterThan(20_000 / 256)
  })

  it('is soon looked through for what was said, though it is alike almost everywhere', () => {
    const [user, system] = ['a'.repeat(40_000), `${'a'.repeat(450_000)}b${'a'.repeat(450_000)}`]
    const messages = [
      { role: 'system', content: 'x' },
      { role: 'user', content: user },
      { role: 'system', content: system },
    ]
    const text = new JinjaTemplate(TEMPLATES[0]!, {}).render({ messages, tools: [], options: {} })
    expect(text.endsWith(system)).toBe(true)
  })

  it('is not begun for a conversation that cannot fit', () => {
    const text = new ChatText(smallTokenizer())
    const refused = (count: number, content: string) => {
      const messages = Array.from({ length: count }, () => ({ role: 'user' as const, content }))
      const call = { messages, tools: [], output: { type: 'text' }, toolChoice: 'auto', stop: [], sampling: {} }
      return () => text.promptInSlices(call as unknown as ChatCall, 512).next()
    }
    expect(refused(20_000, 'x')).toThrow('maximum context length is 512 tokens')
    expect(refused(2, 'word '.repeat(200_000))).toThrow('maximum context length is 512 tokens')
    expect(refused(200, 'x')).not.toThrow()
  })

  it('counts each round of a loop, and the empty ones', () => {
    const source = `{% set r = range(4000) %}${'{% for a in r %}'.repeat(3)}${'{% endfor %}'.repeat(3)}`
    const work = () => new JinjaTemplate(source, {}).render({ messages, tools: [], options: {} })
    expect(work).toThrow('takes too many steps')
  })

  it('refuses in the template’s own words', () => {
    const template = new JinjaTemplate('{% for m in messages %}{{ raise_exception("No " + m.role) }}{% endfor %}', {})
    expect(() => template.render({ messages, tools: [], options: {} })).toThrow('No user')
  })
})
