import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, tool } from '@openai/agents'
import { CALL, NAMES, resultOf, SYSTEM, TOOLS, WORDS } from './agent.mjs'

export const forms = {
  responses: (asked) => conversation(asked, true),
  'chat completions': (asked) => conversation(asked, false),
  'responses, previousResponseId': (asked) => conversation(asked, true, 'chained'),
  'responses, a session': (asked) => conversation(asked, true, 'session'),
}

/** `by`: who keeps what was said, where the service does. */
async function conversation({ url, key, model, history }, useResponses, by) {
  const provider = new OpenAIProvider({ baseURL: url, apiKey: key, useResponses })
  const runner = new Runner({ modelProvider: provider, tracingDisabled: true })
  const tools = NAMES.map((name, i) =>
    tool({
      name,
      description: TOOLS[name].description,
      parameters: TOOLS[name].schema,
      execute: () => resultOf({ name }, i),
    }),
  )
  let items = history.flatMap(itemsOf)
  let previous
  // One for what is asked whole, one for streams: each run adds to its own.
  const sessions =
    by === 'session' ? [0, 1].map(() => new OpenAIConversationsSession({ baseURL: url, apiKey: key })) : []
  if (items.length > 0) for (const session of sessions) await session.addItems(items)
  if (by === 'session') items = []
  const agentFor = (choice) =>
    new Agent({
      name: 'Agent',
      instructions: SYSTEM,
      model,
      tools,
      // The loop is ours: a run is over once its calls have been answered.
      toolUseBehavior: 'stop_on_first_tool',
      modelSettings: {
        temperature: 0,
        maxTokens: choice === 'auto' || choice === 'none' ? Math.max(16, WORDS) : CALL,
        toolChoice: typeof choice === 'object' ? choice.name : choice,
        providerData: {
          // Else made-up weights go round until they are cut off, which it takes for an error.
          frequency_penalty: 1.5,
          // After a stream of nothing, or of thoughts alone, it asks again; and a token may be one that nobody is told.
          ...(!useResponses && (choice === 'auto' || choice === 'none') && { thinking_budget: 8, min_tokens: 24 }),
        },
      },
    })
  return {
    isRandom: by === 'session',
    say: (text) => items.push({ role: 'user', content: text }),
    async ask({ choice, stream }) {
      const kept =
        by === 'session' ? { session: sessions[stream ? 1 : 0] } : previous && { previousResponseId: previous }
      const result = await runner.run(agentFor(choice), [...items], { stream, maxTurns: 3, ...kept })
      if (stream) {
        for await (const _ of result);
        await result.completed
      }
      const calls = result.newItems
        .filter(({ type }) => type === 'tool_call_item')
        .map(({ rawItem }) => ({ id: rawItem.callId, name: rawItem.name, input: JSON.parse(rawItem.arguments) }))
      const texts = result.newItems.filter(({ type }) => type === 'message_output_item').map(({ content }) => content)
      const results = result.newItems.filter(({ type }) => type === 'tool_call_output_item')
      return { text: texts.join(''), calls, answered: true, result, results: results.map(({ rawItem }) => rawItem) }
    },
    keep({ result, results }) {
      if (by === 'chained') previous = result.lastResponseId
      items = by === 'chained' ? results : by === 'session' ? [] : [...result.history]
    },
    results: () => {},
  }
}

function itemsOf(turn) {
  if (turn.role === 'user') return [{ role: 'user', content: turn.text }]
  if (turn.role === 'tool') {
    const { id: callId, name } = turn.call
    return [
      { type: 'function_call_result', callId, name, status: 'completed', output: { type: 'text', text: turn.text } },
    ]
  }
  const { text, calls, foreign } = turn
  const id = foreign ? { id: 'msg_68a1f0c2d4e88190b7c9d1e3f5a7' } : {}
  return [
    ...(text === ''
      ? []
      : [{ role: 'assistant', status: 'completed', ...id, content: [{ type: 'output_text', text }] }]),
    ...calls.map(({ id: callId, name, input }) => {
      return { type: 'function_call', callId, name, status: 'completed', arguments: JSON.stringify(input) }
    }),
  ]
}
