/** What Open WebUI asks, one after the other, by either of its connections; it is a program of Python's without a client. */
import { CALL, NAMES, parametersOf, SYSTEM, TOOLS, WORDS } from './agent.mjs'
import { read } from './openai-forms.mjs'

export const forms = {
  'OpenAI connection': (asked) => conversation(asked, false),
  'Ollama connection': (asked) => conversation(asked, true),
}

const tools = NAMES.map((name) => ({
  type: 'function',
  function: { name, description: TOOLS[name].description, parameters: parametersOf(name) },
}))

async function conversation({ url, key, model, history }, byOllama) {
  const root = byOllama ? url.replace(/\/v1$/, '') : url
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-openwebui-user-id': '1' }
  const asked = async (path, body) => {
    const answer = await fetch(`${root}${path}`, {
      method: body ? 'POST' : 'GET',
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    return answer
  }
  // It looks what there is first.
  const first = byOllama ? ['/api/version', '/api/tags', '/api/ps'] : ['/models']
  for (const path of first) await (await asked(path)).json()
  if (byOllama) await (await asked('/api/show', { model, name: model })).json()
  const messages = [{ role: 'system', content: SYSTEM }, ...history.map((turn) => messageOf(turn, byOllama))]
  const title = async () => {
    const words = `### Task:\nGenerate a concise title.\n<chat_history>\n${messages.length}\n</chat_history>`
    const body = { model, messages: [{ role: 'user', content: words }], stream: false }
    if (byOllama) await asked('/api/chat', { ...body, options: { num_predict: 16 }, keep_alive: '5m' })
    else await asked('/chat/completions', { ...body, max_completion_tokens: 16 })
  }
  return {
    say: (content) => messages.push({ role: 'user', content }),
    async ask({ choice, stream }) {
      if (stream && messages.length < 4) await title()
      return byOllama ? await byOwn(choice, stream) : await byChat(choice, stream)
    },
    keep: ({ message }) => messages.push(message),
    results: (calls, texts) =>
      messages.push(...calls.map(({ id }, i) => ({ role: 'tool', tool_call_id: id, content: texts[i] }))),
    // It can say by neither that one must be made.
    cannotForce: byOllama,
  }

  async function byChat(choice, stream) {
    const answer = await asked('/chat/completions', {
      ...{ model, messages, tools, stream, temperature: 0 },
      max_tokens: choice === 'auto' || choice === 'none' ? WORDS : CALL,
      tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
      ...(stream && { stream_options: { include_usage: true } }),
    })
    const message = stream ? joined(await answer.text()) : (await answer.json()).choices[0].message
    const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: json } }) => {
      return { id, name, input: read(json, choice) }
    })
    const said = { role: 'assistant', content: message.content ?? '' }
    return {
      text: said.content,
      calls,
      message: { ...said, ...(calls.length > 0 && { tool_calls: message.tool_calls }) },
    }
  }

  async function byOwn(choice, stream) {
    const answer = await asked('/api/chat', {
      ...{ model, messages, stream, keep_alive: '5m' },
      options: { temperature: 0, num_ctx: 8192, num_predict: WORDS },
      ...(choice !== 'none' && { tools }),
    })
    const lines = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const text = lines.map(({ message }) => message.content).join('')
    const tool_calls = lines.flatMap(({ message }) => message.tool_calls ?? [])
    const calls = tool_calls.map(({ id, function: { name, arguments: input } }) => ({ id, name, input }))
    const message = { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls }) }
    return { text, calls, message }
  }
}

/** What came in pieces: it keeps a call's place in it, and sends it back. */
function joined(events) {
  const message = { content: '', tool_calls: [] }
  for (const [, json] of events.matchAll(/^data: (\{.*)$/gm)) {
    const { choices, error } = JSON.parse(json)
    if (error) throw new Error(error.message)
    const delta = choices[0]?.delta ?? {}
    message.content += delta.content ?? ''
    for (const { index, function: said, ...more } of delta.tool_calls ?? []) {
      const call = message.tool_calls.find((each) => each.index === index)
      if (call) call.function.arguments += said.arguments ?? ''
      else message.tool_calls.push({ index, ...more, function: { arguments: '', ...said } })
    }
  }
  return message
}

function messageOf(turn, byOllama) {
  if (turn.role === 'user') return { role: 'user', content: turn.text }
  if (turn.role === 'tool') return { role: 'tool', tool_call_id: turn.call.id, content: turn.text }
  const tool_calls = turn.calls.map(({ id, name, input }, index) => ({
    ...{ index, id, type: 'function' },
    function: { name, arguments: byOllama ? input : JSON.stringify(input) },
  }))
  // Thoughts are part of what was said, in a fold.
  const thought = turn.thought ? `<details type="reasoning" done="true">\n${turn.thought}\n</details>\n` : ''
  return { role: 'assistant', content: thought + turn.text, ...(tool_calls.length > 0 && { tool_calls }) }
}
