import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ChatMessage, textOf } from '../../contract/engine.js'
import { messages } from '../endpoints/messages/index.js'
import { ollama } from '../endpoints/ollama/index.js'
import { memoryResponses } from '../endpoints/responses/store/shelved.js'
import { jsonOf, posting, recorded, serviceOf } from '../v1.test-helper.js'

/** What was said, in no client's form. */
type Turn =
  | { readonly by: 'user'; readonly text: string }
  | {
      readonly by: 'model'
      readonly thoughts: string
      readonly text: string
      readonly calls: readonly { readonly id: string; readonly args: object; readonly result: string }[]
    }

const aText = fc.constantFrom('', 'Yes.', ' two\n lines ', '<|im_end|>', '{"a":1}', 'é🌍')
const aCall = fc.record({
  args: fc.constantFrom({}, { city: 'Bern' }, { n: [1, { x: null }] }),
  result: aText,
})
const aTurn: fc.Arbitrary<Turn> = fc
  .record({
    thoughts: fc.constantFrom('', 'Hm.'),
    text: aText,
    calls: fc.array(aCall, { maxLength: 3 }),
  })
  // A turn of nothing is a turn to some forms and none to others.
  .filter(({ text, calls }) => text !== '' || calls.length > 0)
  .map(({ calls, ...turn }) => ({ by: 'model', ...turn, calls: calls.map((call) => ({ id: '', ...call })) }))
const aHistory = fc
  .array(fc.tuple(fc.constantFrom('Hi', 'Go on.'), fc.array(aTurn, { minLength: 1, maxLength: 3 })), { maxLength: 3 })
  .map((rounds) => {
    let made = 0
    const turns = rounds.flatMap(([text, answers]): Turn[] => [{ by: 'user', text }, ...answers])
    const named = turns.map((turn): Turn => {
      if (turn.by === 'user') return turn
      return { ...turn, calls: turn.calls.map((call) => ({ ...call, id: `call_${made++}` })) }
    })
    return [...named, { by: 'user', text: 'And now?' }] satisfies Turn[]
  })

/** The ways in which clients keep it, each as the body of a request. */
const FORMS: Readonly<Record<string, (turns: readonly Turn[]) => object>> = {
  '/chat/completions': (turns) => ({
    messages: turns.flatMap((turn): object[] => {
      if (turn.by === 'user') return [{ role: 'user', content: turn.text }]
      const { thoughts, text, calls } = turn
      const called = calls.map(({ id, args }) => {
        return { id, type: 'function', function: { name: 'look', arguments: JSON.stringify(args) } }
      })
      const tool_calls = called.length > 0 ? { tool_calls: called } : {}
      const message = { role: 'assistant', content: text || null, ...(thoughts && { reasoning_content: thoughts }) }
      const results = calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result }))
      return [{ ...message, ...tool_calls }, ...results]
    }),
  }),
  '/responses': (turns) => ({ input: turns.flatMap(itemsOf) }),
  '/messages': (turns) => {
    // Results stand in the user's next message, whoever speaks next.
    const reported: { role: string; content: object[] }[] = []
    const add = (role: string, ...content: object[]) => {
      const last = reported.at(-1)
      if (last?.role === role) last.content.push(...content)
      else reported.push({ role, content })
    }
    for (const turn of turns) {
      if (turn.by === 'user') add('user', { type: 'text', text: turn.text })
      else {
        const { thoughts, text, calls } = turn
        add(
          'assistant',
          ...(thoughts ? [{ type: 'thinking', thinking: thoughts, signature: '' }] : []),
          ...(text ? [{ type: 'text', text }] : []),
          ...calls.map(({ id, args }) => ({ type: 'tool_use', id, name: 'look', input: args })),
        )
        const results = calls.map(({ id, result }) => ({ type: 'tool_result', tool_use_id: id, content: result }))
        if (results.length > 0) add('user', ...results)
      }
    }
    return { messages: reported, max_tokens: 16 }
  },
  '/api/chat': (turns) => ({
    stream: false,
    messages: turns.flatMap((turn): object[] => {
      if (turn.by === 'user') return [{ role: 'user', content: turn.text }]
      const { thoughts, text, calls } = turn
      const tool_calls = calls.map(({ args }) => ({ function: { name: 'look', arguments: args } }))
      return [
        { role: 'assistant', content: text, ...(thoughts && { thinking: thoughts }), tool_calls },
        ...calls.map(({ result }) => ({ role: 'tool', tool_name: 'look', content: result })),
      ]
    }),
  }),
}

function itemsOf(turn: Turn): object[] {
  if (turn.by === 'user') return [{ role: 'user', content: turn.text }]
  const { thoughts, text, calls } = turn
  return [
    ...(thoughts ? [{ type: 'reasoning', summary: [{ type: 'summary_text', text: thoughts }] }] : []),
    ...(text ? [{ role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }] : []),
    ...calls.map(({ id, args }) => {
      return { type: 'function_call', call_id: id, name: 'look', arguments: JSON.stringify(args) }
    }),
    ...calls.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result })),
  ]
}

/** Calls by how many there were before them: not every form has ids. What follows on itself is one turn to some forms. */
function linesOf(messages: readonly ChatMessage[]): string[] {
  const ids = new Map<string, number>()
  const lines: string[] = []
  let last = ''
  for (const message of messages) {
    if (message.role === 'tool') lines.push(`tool ${ids.get(message.toolCallId)}: ${textOf(message.content)}`)
    else if (message.role !== 'assistant') lines.push(`${message.role}: ${textOf(message.content)}`)
    else {
      if (last !== 'assistant') lines.push('assistant')
      if (message.reasoning) lines.push(`thought: ${message.reasoning}`)
      if (textOf(message.content)) lines.push(`said: ${textOf(message.content)}`)
      for (const { id, name, arguments: args } of message.toolCalls ?? []) {
        ids.set(id, ids.size)
        lines.push(`call ${ids.get(id)}: ${name} ${JSON.stringify(JSON.parse(args))}`)
      }
    }
    last = message.role
  }
  return lines
}

function talking() {
  const { calls, script } = recorded('Fine.')
  const { ask } = serviceOf(script, { endpoints: [messages(), ollama()], responses: memoryResponses() })
  const post = async (path: string, body: object) => {
    const answer = await ask(path, posting(body))
    expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
    return answer
  }
  return { post, calls }
}

describe('a history', () => {
  /** Two answers behind each other are one message to Anthropic's clients, and one turn to templates. */
  const aHistoryOfTurns = aHistory.map((turns) =>
    turns.reduce<Turn[]>((kept, turn) => {
      const before = kept.at(-1)
      const follows = turn.by === 'model' && before?.by === 'model' && before.calls.length === 0
      return follows ? kept : kept.concat(turn)
    }, []),
  )

  test('that one client began is the same conversation in the form of any other', async () => {
    const { post, calls } = talking()
    await fc.assert(
      fc.asyncProperty(aHistoryOfTurns, async (turns) => {
        const read: string[][] = []
        for (const [path, write] of Object.entries(FORMS)) {
          await post(path, write(turns))
          read.push(linesOf(calls.at(-1)!.messages))
        }
        for (const other of read) expect(other).toEqual(read[0])
      }),
      { numRuns: 60 },
    )
  })

  test('that the service keeps is the one that a client keeps', async () => {
    const { post, calls } = talking()
    await fc.assert(
      fc.asyncProperty(aHistoryOfTurns, fc.nat(), async (turns, at) => {
        await post('/responses', { input: turns.flatMap(itemsOf) })
        const whole = linesOf(calls.at(-1)!.messages)
        // What went before a turn of the user's was kept, by a response or by a conversation.
        const starts = turns.flatMap(({ by }, i) => (by === 'user' ? [i] : []))
        const from = starts[at % starts.length]!
        const [before, after] = [turns.slice(0, from).flatMap(itemsOf), turns.slice(from).flatMap(itemsOf)]
        const { id } = jsonOf(await post('/conversations', { model: undefined, items: before }))
        await post('/responses', { conversation: id, input: after })
        expect(linesOf(calls.at(-1)!.messages)).toEqual(whole)
        if (before.length === 0) return
        const first = jsonOf(await post('/responses', { input: before }))
        await post('/responses', { previous_response_id: first.id, input: after })
        // Between them stands what was answered to the first.
        const rest = linesOf(calls.at(-1)!.messages).map((line) => line.replace('\nFine.', ''))
        const others = (lines: readonly string[]) => lines.filter((line) => !/^assistant$|^said: Fine\.$/.test(line))
        expect(others(rest)).toEqual(others(whole))
      }),
      { numRuns: 40 },
    )
  })
})
