import { CALL, NAMES, parametersOf, SYSTEM, TOOLS, WORDS } from './agent.mjs'

/** Anthropic's client. */
export function formsOf(Anthropic) {
  const clientOf = ({ url, key }) => new Anthropic({ baseURL: url.replace(/\/v1$/, ''), apiKey: key, maxRetries: 0 })
  return {
    messages: (asked) => conversation(clientOf(asked), asked, false),
    // As Claude Code asks: blocks that are cached, thoughts, metadata, an effort.
    'messages, as Claude Code asks': (asked) => conversation(clientOf(asked), asked, true),
  }
}

function conversation(client, { model, kind, history }, asCode) {
  const cached = asCode ? { cache_control: { type: 'ephemeral' } } : {}
  const messages = []
  /** Blocks of one role stand together, as its messages alternate. */
  const add = (role, ...blocks) => {
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else messages.push({ role, content: blocks })
  }
  const idOf = (id) => id.replace(/^call_/, 'toolu_')
  for (const turn of history) {
    if (turn.role === 'user') add('user', { type: 'text', text: turn.text, ...cached })
    else if (turn.role === 'tool')
      add('user', { type: 'tool_result', tool_use_id: idOf(turn.call.id), content: turn.text })
    else add('assistant', ...blocksOf(turn))
  }
  const tools = NAMES.map((name) => ({
    name,
    description: TOOLS[name].description,
    input_schema: parametersOf(name),
    ...(name === 'send' && { strict: true }),
  }))
  const thinks = asCode || kind === 'thoughts'
  const body = (choice) => ({
    model,
    messages,
    tools: [...tools.slice(0, -1), { ...tools.at(-1), ...cached }],
    system: asCode ? [{ type: 'text', text: SYSTEM, ...cached }] : SYSTEM,
    tool_choice:
      typeof choice === 'object' ? { type: 'tool', ...choice } : { type: choice === 'required' ? 'any' : choice },
    max_tokens: choice === 'auto' || choice === 'none' ? WORDS : CALL,
    ...(!thinks && { temperature: 0 }),
    // Anthropic's own takes thoughts with calls that may be made alone, and no temperature beside them.
    ...(thinks && { top_k: 1 }),
    ...(thinks &&
      choice === 'auto' && { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 1024 + WORDS }),
    ...(asCode && { metadata: { user_id: 'user_1_account__session_2' }, output_config: { effort: 'medium' } }),
  })
  return {
    say: (text) => add('user', { type: 'text', text }),
    async ask({ choice, stream }) {
      const { content } = stream
        ? await client.messages.stream(body(choice)).finalMessage()
        : await client.messages.create(body(choice))
      const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
      const calls = content.filter(({ type }) => type === 'tool_use')
      return { text: texts.join(''), calls: calls.map(({ id, name, input }) => ({ id, name, input })), content }
    },
    keep: ({ content }) => content.length > 0 && add('assistant', ...content),
    results: (calls, texts) =>
      add(
        'user',
        ...calls.map(({ id }, i) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: [{ type: 'text', text: texts[i] }],
        })),
      ),
  }

  function blocksOf({ text, thought, calls, foreign }) {
    return [
      ...(thought ? [{ type: 'thinking', thinking: thought, signature: 'EqQBCgIYAhIM' }] : []),
      ...(foreign && thought ? [{ type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' }] : []),
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...calls.map(({ id, name, input }) => ({ type: 'tool_use', id: idOf(id), name, input })),
    ]
  }
}
