import { CALL, NAMES, parametersOf, resultOf, SYSTEM, TOOLS, WORDS } from './agent.mjs'

const roomFor = (choice) => (choice === 'auto' || choice === 'none' ? WORDS : CALL)

/** OpenAI's client, by chat and by responses. */
export function formsOf(OpenAI) {
  const clientOf = ({ url, key }) => new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 })
  return {
    chat: (asked) => chat(clientOf(asked), asked),
    responses: (asked) => responses(clientOf(asked), asked, false),
    'responses, previous_response_id': (asked) => responses(clientOf(asked), asked, true),
    ...(OpenAI.Conversations && { 'responses, conversation': (asked) => conversation(clientOf(asked), asked) }),
  }
}

function chat(client, { model, history }) {
  const messages = [{ role: 'system', content: SYSTEM }]
  for (const turn of history) {
    if (turn.role === 'user') messages.push({ role: 'user', content: [{ type: 'text', text: turn.text }] })
    else if (turn.role === 'tool') messages.push({ role: 'tool', tool_call_id: turn.call.id, content: turn.text })
    else messages.push(chatAnswer(turn))
  }
  // With strict tools its stream takes no answer in words that was cut off by its limit.
  const toolsOf = (strict) =>
    NAMES.map((name) => ({
      type: 'function',
      function: {
        name,
        description: TOOLS[name].description,
        parameters: parametersOf(name),
        ...(strict && { strict }),
      },
    }))
  const body = (choice) => ({
    model,
    messages,
    tools: toolsOf(choice !== 'auto' && choice !== 'none'),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
    temperature: 0,
    max_completion_tokens: roomFor(choice),
  })
  return {
    say: (text) => messages.push({ role: 'user', content: text }),
    async ask({ choice, stream }) {
      const { choices } = stream
        ? await client.chat.completions.stream(body(choice)).finalChatCompletion()
        : await client.chat.completions.create(body(choice))
      const { message } = choices[0]
      const calls = (message.tool_calls ?? []).map(({ id, function: called }) => {
        return { id, name: called.name, input: read(called.arguments, choice) }
      })
      return { text: message.content ?? '', calls, message }
    },
    keep: ({ message }) => messages.push(message),
    results: (calls, texts) =>
      calls.forEach(({ id }, i) => {
        messages.push({ role: 'tool', tool_call_id: id, content: texts[i] })
      }),
  }
}

/** What a call that nothing holds says need not be JSON: it may have been cut off. */
export function read(json, choice) {
  try {
    return JSON.parse(json)
  } catch (error) {
    if (choice === 'auto') return json
    throw error
  }
}

function chatAnswer({ text, calls, thought, foreign }) {
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(thought && { reasoning_content: thought }),
    // As OpenAI's own answers have them.
    ...(foreign && { refusal: null, annotations: [], audio: null, function_call: null }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      })),
    }),
  }
}

const tools = NAMES.map((name) => ({
  type: 'function',
  name,
  description: TOOLS[name].description,
  parameters: parametersOf(name),
  strict: true,
}))

/** The service keeps what was said: one conversation whole, another by streams. */
async function conversation(client, { model, history }) {
  const items = history.flatMap(itemsOf)
  const [whole, streamed] = await Promise.all(
    [false, true].map(async () => {
      const { id } = await client.conversations.create({ metadata: { of: 'the matrix' } })
      for (let i = 0; i < items.length; i += 20)
        await client.conversations.items.create(id, { items: items.slice(i, i + 20) })
      return { id, input: [] }
    }),
  )
  const body = (choice, { id, input }) => ({
    ...{ model, instructions: SYSTEM, conversation: id, input, tools, temperature: 0 },
    tool_choice: typeof choice === 'object' ? { type: 'function', ...choice } : choice,
    max_output_tokens: Math.max(16, roomFor(choice)),
  })
  const resultsOf = (calls, texts) =>
    calls.map(({ id }, i) => ({ type: 'function_call_output', call_id: id, output: texts[i] }))
  return {
    // Each has calls of its own, and some templates tell their ids.
    isRandom: true,
    say(content) {
      for (const { input } of [whole, streamed]) input.push({ role: 'user', content })
    },
    async ask({ choice, stream }) {
      const asked = body(choice, stream ? streamed : whole)
      const response = stream
        ? await client.responses.stream(asked).finalResponse()
        : await client.responses.create(asked)
      const calls = response.output
        .filter(({ type }) => type === 'function_call')
        .map((call) => ({ id: call.call_id, name: call.name, input: read(call.arguments, choice) }))
      if (stream) streamed.input = resultsOf(calls, calls.map(resultOf))
      return { text: response.output_text, calls }
    },
    keep() {
      whole.input = []
    },
    results(calls, texts) {
      whole.input = resultsOf(calls, texts)
    },
  }
}

function responses(client, { model, kind, history }, chained) {
  const input = history.flatMap(itemsOf)
  /** Items that the service does not have yet. */
  let fresh = [...input]
  let previous
  const body = (choice) => ({
    model,
    instructions: SYSTEM,
    input: chained ? fresh : input,
    ...(chained && previous && { previous_response_id: previous }),
    tools,
    tool_choice: typeof choice === 'object' ? { type: 'function', ...choice } : choice,
    temperature: 0,
    max_output_tokens: Math.max(16, roomFor(choice)),
    ...(kind === 'thoughts' && {
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    }),
  })
  const add = (...items) => {
    input.push(...items)
    fresh.push(...items)
  }
  return {
    say: (text) => add({ role: 'user', content: text }),
    async ask({ choice, stream }) {
      // That of Python is asked by `create` and `stream` alone.
      if (kind === 'compacted' && !chained && input.length > 8 && client.responses.compact) await compact()
      const response = stream
        ? await client.responses.stream(body(choice)).finalResponse()
        : await client.responses.create(body(choice))
      const calls = response.output
        .filter(({ type }) => type === 'function_call')
        .map((call) => ({ id: call.call_id, name: call.name, input: read(call.arguments, choice) }))
      return { text: response.output_text, calls, response }
    },
    keep({ response }) {
      previous = response.id
      fresh = []
      input.push(...response.output)
    },
    results: (calls, texts) =>
      calls.forEach(({ id }, i) => {
        add({ type: 'function_call_output', call_id: id, output: texts[i] })
      }),
  }

  async function compact() {
    const last = input.at(-1)
    if (last.role !== 'user' || input.some(({ type }) => type === 'compaction')) return
    const { output } = await client.responses.compact({ model, input: input.slice(0, -1) })
    input.splice(0, input.length - 1, ...output)
  }
}

let items = 0
const idOf = (kind) => `${kind}_68a1f0c2d4e8819${(items++).toString(16).padStart(6, '0')}b7c9d1e3f5a7`

function itemsOf(turn) {
  if (turn.role === 'user') return [{ role: 'user', content: [{ type: 'input_text', text: turn.text }] }]
  if (turn.role === 'tool') return [{ type: 'function_call_output', call_id: turn.call.id, output: turn.text }]
  const { text, thought, calls, foreign } = turn
  const kept = (kind) => (foreign ? { id: idOf(kind), status: 'completed' } : {})
  return [
    ...(thought
      ? [
          {
            type: 'reasoning',
            id: idOf('rs'),
            summary: foreign ? [] : [{ type: 'summary_text', text: thought }],
            ...(foreign && { encrypted_content: 'gAAAAABoofDC1notoursatall' }),
          },
        ]
      : []),
    ...(text === ''
      ? []
      : [
          {
            type: 'message',
            role: 'assistant',
            ...kept('msg'),
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]),
    ...calls.map(({ id, name, input }) => ({
      type: 'function_call',
      ...kept('fc'),
      call_id: id,
      name,
      arguments: JSON.stringify(input),
    })),
  ]
}
