import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../test/support/full.js'
import type { ChatCall } from '../contract/engine.js'
import { compile } from '../grammar/structured.js'
import { ChatText } from './chat-text.js'
import { call, collect, setUp } from './testing/call.test-helper.js'
import { smallTokenizer } from './testing/small-tokenizer.test-helper.js'
import { thoughtBudget, thoughtMarksOf } from './thinking.js'

const TURNS = `{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' }}{%- if message.reasoning_content and not loop.first %}{{- '{' + message.reasoning_content + '}' }}{%- endif %}{{- message.content + '<|im_end|>\\n' }}{%- endfor %}{{- '<|im_start|>assistant\\n' }}`

/** A model whose template leaves the first mark to it, or writes that itself, with marks that are tokens, control tokens, or text. */
function thinker(opens: boolean, open: string, close: string, kind: 'token' | 'control' | 'text'): ChatText {
  const files = smallTokenizer()
  const added = files.tokenizer.added_tokens.flatMap((token) => {
    const content = token.content.replace('<think>', open).replace('</think>', close)
    if (content === token.content && content !== open && content !== close) return [token]
    return kind === 'text' ? [] : [{ ...token, content, special: kind === 'control' }]
  })
  const tokenizer = { ...files.tokenizer, added_tokens: added }
  const chat_template = `${TURNS}{#- ${close} #}${opens ? `{{- '${open}' }}` : ''}`
  return new ChatText({ tokenizer, tokenizerConfig: { ...files.tokenizerConfig, chat_template } })
}

const MODELS: Readonly<Record<string, ChatText>> = {
  'a token that the model writes': thinker(false, '<think>', '</think>', 'token'),
  'a token that the template writes': thinker(true, '<think>', '</think>', 'token'),
  'a control token': thinker(false, '[THINK]', '[/THINK]', 'control'),
  'a control token that the template writes': thinker(true, '[THINK]', '[/THINK]', 'control'),
  text: thinker(false, '<think>', '</think>', 'text'),
  'text that the template writes': thinker(true, '<think>', '</think>', 'text'),
}
const names = Object.keys(MODELS)

const DOCUMENTS = [1, 22, 333].flatMap((n) => ['a', 'é"\n'].map((s) => JSON.stringify({ title: 'The Sea', n, s })))
const grammar = compile({ enum: DOCUMENTS.map((text) => JSON.parse(text)) })
const json = { type: 'json_schema' as const, name: 'x', strict: true, schema: true }
const think = (part: Partial<ChatCall> = {}, seed = 1) =>
  call({ templateOptions: { enable_thinking: true }, sampling: { ...call().sampling, seed }, ...part })

/** What was thought. */
const thoughts = ({ parts }: Awaited<ReturnType<typeof collect>>) =>
  parts.map((part) => (part.type === 'reasoning-delta' ? part.text : '')).join('')
const spent = (answer: Awaited<ReturnType<typeof collect>>) =>
  (answer.usage as { reasoningTokens?: number }).reasoningTokens ?? 0

/** A model that says these tokens and then ends; it takes what a grammar allows where that is not it. */
function saying(text: ChatText, content: string) {
  const tokens = [...text.tokenizer.encodeMarker(content), [...text.ends][0]!]
  let from: number | undefined
  return setUp(
    {
      next: (all) => {
        from ??= all.length
        return tokens[all.length - from]
      },
    },
    text,
  ).decoder
}

describe('a thought before a document', () => {
  // 2,000 of all kinds of models together.
  test.each(names)('never exceeds its budget, and the document is always complete: %s', async (name) => {
    const text = MODELS[name]!
    const close = text.tokenizer.idOf(text.thoughtMarks!.close)
    // Some end their thoughts soon, some want to end the answer in the midst of one, some never end anything.
    const ends = [...text.ends][0]!
    const deciders = [new Map(), new Map(close === undefined ? [] : [[close, 3]]), new Map([[ends, 4]])].map(
      (bias) => setUp({ bias: () => bias }, text).decoder,
    )
    const shortest = grammar.start(text.vocabulary).shortest
    const least = shortest + text.endOfThought.length
    let thought = 0
    const numRuns = runs(Math.ceil(2000 / names.length), 4)
    await fc.assert(
      fc.asyncProperty(
        fc.nat(60),
        fc.nat(60),
        fc.nat(1e6),
        fc.nat(2),
        fc.constantFrom('low', 'high', undefined),
        async (budget, room, seed, which, effort) => {
          const limits = effort ? { templateOptions: { reasoning_effort: effort } } : { thinkingBudget: budget }
          const request = think({ output: json, grammar, maxTokens: least + room, ...limits }, seed)
          const answer = await collect(deciders[which]!.generate(request))
          expect(DOCUMENTS).toContain(answer.texts[0])
          expect(answer.reasons).toEqual(['stop'])
          expect(answer.usage.completionTokens).toBeLessThanOrEqual(least + room)
          expect(spent(answer)).toBeLessThanOrEqual(effort ? room : Math.min(budget, room))
          expect(thoughts(answer)).not.toContain(text.thoughtMarks!.close)
          thought += spent(answer) > 0 ? 1 : 0
        },
      ),
      { numRuns },
    )
    expect(thought).toBeGreaterThan(numRuns / 4)
  })

  test.each(names)('is separated from it, wherever the marker is: %s', async (name) => {
    const text = MODELS[name]!
    const { open, close, gap } = text.thoughtMarks!
    const answerText = `First the sea.\nThen "n".\n${close}${gap}${DOCUMENTS[3]}`
    const request = think({ output: json, grammar, maxTokens: 300 })
    const answer = await collect(saying(text, answerText).generate(request))
    expect([thoughts(answer), answer.texts[0]]).toEqual(['First the sea.\nThen "n".', DOCUMENTS[3]])
    expect(text.endsInThought(text.tokenizer.encodeMarker(open))).toBe(true)
  })

  test.each(names)('is there only if the request asks for it: %s', async (name) => {
    for (const templateOptions of [undefined, { reasoning_effort: 'none' }, { reasoning_effort: 'minimal' }]) {
      const { decoder } = setUp({}, MODELS[name])
      const request = think({ output: json, grammar, ...(templateOptions && { templateOptions }) })
      const answer = await collect(decoder.generate({ ...request, templateOptions }))
      expect([thoughts(answer), spent(answer)]).toEqual(['', 0])
      expect(DOCUMENTS).toContain(answer.texts[0])
    }
  })

  test('comes before a call that must be made', async () => {
    const text = MODELS['a token that the template writes']!
    const tools = [{ name: 'f', parameters: { type: 'object' }, strict: false }]
    const call = { type: 'object', properties: { name: { const: 'f' }, arguments: { const: {} } } }
    const toolGrammar = compile({ ...call, required: ['name', 'arguments'], additionalProperties: false })
    const request = think({ tools, toolGrammar, toolChoice: { name: 'f' }, parallelToolCalls: false })
    const answer = await collect(saying(text, 'I call.</think>\n\n').generate(request))
    expect([thoughts(answer), answer.texts[0], answer.reasons]).toEqual(['I call.', '', ['tool_calls']])
    expect(answer.calls[0]).toMatchObject([{ name: 'f', arguments: '{}' }])
  })
})

describe('a thought before talk', () => {
  test.each(names)('is never part of the text: %s', async (name) => {
    const text = MODELS[name]!
    const { open, close } = text.thoughtMarks!
    const head = name.includes('template') ? '' : open
    const decoder = () => saying(text, `${head}Hm, let me see.\n${close}\n\nThe sea is wide.`)
    for (const templateOptions of [undefined, { enable_thinking: true }]) {
      const answer = await collect(decoder().generate(call({ templateOptions, maxTokens: 100 })))
      expect([thoughts(answer), answer.texts[0], answer.reasons]).toEqual([
        'Hm, let me see.',
        'The sea is wide.',
        ['stop'],
      ])
      expect(spent(answer)).toBeGreaterThan(0)
      expect(spent(answer)).toBeLessThan(answer.usage.completionTokens)
    }
  })

  test.each(names)('ends with its budget, and the answer goes on: %s', async (name) => {
    const text = MODELS[name]!
    const { decoder } = setUp({ bias: () => new Map([...text.ends].map((id) => [id, -100])), ahead: true }, text)
    const head = name.includes('template') ? {} : { seed: 3 }
    for (let thinkingBudget = 1; thinkingBudget < 20; thinkingBudget++) {
      const sampling = { ...call().sampling, ...head }
      const answer = await collect(decoder.generate(think({ thinkingBudget, maxTokens: 60, sampling })))
      expect(spent(answer)).toBeLessThanOrEqual(thinkingBudget)
      expect(answer.usage.completionTokens).toBe(60)
      if (name.includes('template')) expect(answer.texts[0]).not.toBe('')
    }
  })

  test('is the same whether the model runs ahead or not', async () => {
    for (const name of names) {
      const answers: unknown[] = []
      for (const ahead of [false, true]) {
        const { decoder } = setUp({ ahead }, MODELS[name])
        for (let seed = 0; seed < 10; seed++) {
          const { texts, parts } = await collect(decoder.generate(think({ thinkingBudget: 7, maxTokens: 40 }, seed)))
          answers.push([texts, thoughts({ parts } as never)])
        }
      }
      expect(answers.slice(0, 10)).toEqual(answers.slice(10))
    }
  })

  test('that has no end is an answer without a word', async () => {
    const text = MODELS['a token that the template writes']!
    const { decoder } = setUp({ bias: () => new Map([...text.ends].map((id) => [id, -100])) }, text)
    const answer = await collect(decoder.generate(call({ maxTokens: 20 })))
    expect([answer.texts[0], answer.reasons, spent(answer)]).toEqual(['', ['length'], 20])
  })
})

describe('thoughts', () => {
  test('of earlier turns go to the template, which keeps or drops them', () => {
    const text = MODELS['a token that the model writes']!
    const messages: ChatCall['messages'] = [
      { role: 'user', content: 'A?' },
      { role: 'assistant', content: 'B.', reasoning: 'why</think>' },
      { role: 'user', content: 'C?' },
    ]
    const prompt = text.prompt(call({ messages }))
    expect(prompt.map((token) => text.tokenizer.shown(token)).join('')).toContain('assistant\n{why</think>}B.')
    // What a client sends is text, and ends no thought.
    expect(prompt).not.toContain(text.tokenizer.idOf('</think>'))
  })

  test('are known by what the template says, then by the tokens', () => {
    const { tokenizer } = new ChatText(smallTokenizer())
    const close = (template: string) => thoughtMarksOf(template, tokenizer)?.close
    expect(close("{% if '</think>' in content %}")).toBe('</think>')
    expect(close('[THINK]x[/THINK]')).toBe('[/THINK]')
    expect(close('<|channel>thought\n<channel|>')).toBe('<channel|>')
    expect(close('{% if enable_thinking %}')).toBe('</think>')
    expect(close('{{ messages }}')).toBeUndefined()
  })

  test('take the tokens that the effort allows, and leave a quarter of the answer', () => {
    const of = (reasoning_effort: string, limit: number) =>
      thoughtBudget(call({ templateOptions: { reasoning_effort } }), limit, 10)
    expect(['low', 'medium', 'high', 'xhigh'].map((effort) => of(effort, 100_000))).toEqual([512, 2048, 8192, 75_000])
    expect([of('high', 100), of('high', 12), of('high', 5)]).toEqual([75, 2, 0])
    expect(thoughtBudget(call({ thinkingBudget: 95 }), 100, 10)).toBe(90)
  })
})
