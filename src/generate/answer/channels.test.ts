import { describe, expect, test } from 'vitest'
import type { ChatCall } from '../../contract/engine.js'
import { compile } from '../../grammar/structured.js'
import { ChatText } from '../chat-text.js'
import { call, collect, setUp } from '../testing/call.test-helper.js'
import { smallTokenizer } from '../testing/small-tokenizer.test-helper.js'

const MARKS = ['<|start|>', '<|end|>', '<|message|>', '<|channel|>', '<|constrain|>', '<|return|>', '<|call|>']
/** As much of gpt-oss's own as these conversations need, in words of ours. */
const TEMPLATE = `{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}
{%- for message in messages %}
{%- if message.role == 'assistant' and message.tool_calls %}
{%- if message.content and message.thinking %}{{- raise_exception('both') }}{%- endif %}
{%- if message.content or message.thinking %}{{- '<|start|>assistant<|channel|>analysis<|message|>' + (message.content or message.thinking) + '<|end|>' }}{%- endif %}
{%- set f = message.tool_calls[0].function %}{{- '<|start|>assistant to=functions.' + f.name + '<|channel|>commentary json<|message|>' + (f.arguments | tojson) + '<|call|>' }}
{%- elif message.role == 'assistant' %}{{- '<|start|>assistant<|channel|>final<|message|>' + message.content + '<|end|>' }}
{%- elif message.role == 'tool' %}{{- '<|start|>functions.' + message.name + ' to=assistant<|channel|>commentary<|message|>' + message.content + '<|end|>' }}
{%- else %}{{- '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}{%- endif %}
{%- endfor %}{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{%- endif %}`

const files = smallTokenizer()
const from = Math.max(...files.tokenizer.added_tokens.map(({ id }) => id)) + 1
const added = MARKS.map((content, i) => ({
  ...files.tokenizer.added_tokens[0]!,
  ...{ id: from + i, content, special: true },
}))
const text = new ChatText({
  tokenizer: { ...files.tokenizer, added_tokens: [...files.tokenizer.added_tokens, ...added] },
  tokenizerConfig: { eos_token: '<|return|>', chat_template: TEMPLATE },
})

/** A model that answers with these tokens; what it is made to say stands among them. */
function saying(content: string, request: ChatCall) {
  const tokens = text.tokenizer.encodeMarker(content)
  const start = text.prompt(request).length
  return setUp({ next: (all) => tokens[all.length - start] }, text)
}

async function answered(content: string, part: Partial<ChatCall> = {}) {
  const request = call({ maxTokens: 200, ...part })
  const answer = await collect(saying(content, request).decoder.generate(request))
  const thought = answer.parts.map((each) => (each.type === 'reasoning-delta' ? each.text : '')).join('')
  return { thought, text: answer.texts[0], reason: answer.reasons[0], calls: answer.calls[0] ?? [], answer }
}

const THOUGHT = '<|channel|>analysis<|message|>They greet.<|end|><|start|>assistant'
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ name: 'weather', parameters, strict: true }]
const toolGrammar = compile({ type: 'object' })

describe('the channels of an answer', () => {
  test('are told by their names: thoughts apart, and no mark in what is said', async () => {
    const both = await answered(`${THOUGHT}<|channel|>final<|message|>Hello there.<|return|>`)
    expect(both).toMatchObject({ thought: 'They greet.', text: 'Hello there.', reason: 'stop' })
    const plain = await answered('<|channel|>final<|message|>Hello.<|end|>')
    expect(plain).toMatchObject({ thought: '', text: 'Hello.', reason: 'stop' })
  })

  test('are not thought on where nobody wants it', async () => {
    const brief = await answered(`${THOUGHT}<|channel|>final<|message|>Hello.<|return|>`, {
      templateOptions: { enable_thinking: false },
    })
    expect(brief.thought).toBe('')
    expect(brief.answer.usage).not.toMatchObject({ reasoningTokens: expect.anything() })
  })

  test('end with a call, whose name stands in the head', async () => {
    const head = '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>'
    for (const before of ['', THOUGHT]) {
      const { thought, text, reason, calls } = await answered(`${before}${head}{"city":"Bern"}<|call|>`, {
        ...{ tools, toolGrammar, toolChoice: 'auto' as const },
      })
      expect({ thought, text, reason }).toEqual({
        thought: before === '' ? '' : 'They greet.',
        ...{ text: '', reason: 'tool_calls' },
      })
      expect(calls).toMatchObject([{ name: 'weather', arguments: '{"city":"Bern"}' }])
    }
  })

  test('are of a call alone where one must be made', async () => {
    const forced = { tools, toolGrammar, toolChoice: { name: 'weather' } }
    const { calls, reason } = await answered('', forced)
    expect(reason).toBe('tool_calls')
    expect(calls[0]!.name).toBe('weather')
    expect(Object.keys(JSON.parse(calls[0]!.arguments))).toContain('city')
  })

  test('are of a call also where the model ends what might have gone on', async () => {
    const parameters = { type: 'integer' }
    const counts = { tools: [{ name: 'count', parameters, strict: true }], toolGrammar: compile(parameters) }
    const text = '<|channel|>commentary to=functions.count <|constrain|>json<|message|>1<|return|>'
    const { calls, reason } = await answered(text, { ...counts, toolChoice: { name: 'count' } })
    expect([calls, reason]).toMatchObject([[{ name: 'count', arguments: '1' }], 'tool_calls'])
  })

  test.each([undefined, { enable_thinking: true }])(
    'hold a document to its schema behind a head of its own: %j',
    async (templateOptions) => {
      const grammar = compile({ enum: [{ title: 'The Sea' }, { title: 'The Land' }] })
      const output = { type: 'json_schema' as const, name: 'x', strict: true, schema: true }
      const { answer, thought } = await answered(
        `${templateOptions ? THOUGHT : ''}<|channel|>final<|message|>{"title":"The Land"}<|return|>`,
        { output, grammar, ...(templateOptions && { templateOptions }) },
      )
      expect([answer.texts[0], thought]).toEqual(['{"title":"The Land"}', templateOptions ? 'They greet.' : ''])
    },
  )

  test('never take more tokens than the answer may have', async () => {
    for (let maxTokens = 1; maxTokens < 30; maxTokens++) {
      const { answer } = await answered(`${THOUGHT}<|channel|>final<|message|>Hello there.`, { maxTokens })
      expect(answer.usage.completionTokens).toBeLessThanOrEqual(maxTokens)
    }
  })
})

describe('a conversation in channels', () => {
  const shown = (messages: ChatCall['messages']) =>
    text
      .prompt(call({ messages, tools }))
      .map((token) => text.tokenizer.shown(token))
      .join('')
  const made = [{ id: 'c1', name: 'weather', arguments: '{"city":"Bern"}' }]
  const result = { role: 'tool' as const, toolCallId: 'c1', content: 'Sunny.' }

  test('has its calls as the template writes them, with the thought before them or the words', () => {
    const thought = { role: 'assistant' as const, content: '', reasoning: 'I look.', toolCalls: made }
    const CALL = 'to=functions.weather<|channel|>commentary json<|message|>{"city": "Bern"}<|call|>'
    expect(shown([{ role: 'user', content: 'Hi' }, thought, result])).toContain(
      `analysis<|message|>I look.<|end|><|start|>assistant ${CALL}`,
    )
    const words = { ...thought, content: 'Let me look.' }
    const text = shown([{ role: 'user', content: 'Hi' }, words, result])
    expect(text).toContain(CALL)
    expect(text).toContain('Let me look.')
  })
})
