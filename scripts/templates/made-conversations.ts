/** Conversations as nobody would think them up: any turns that a service takes, each word of them told apart. */
import type { ChatCall, ChatMessage } from '../../src/contract/engine.js'

const NAMES = ['get_weather', 'other']

/** The same for the same number. */
export function madeConversations(count: number): ChatCall['messages'][] {
  let state = 7
  const below = (end: number) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff
    return Math.floor((state / 0x7fff_ffff) * end)
  }
  return Array.from({ length: count }, () => madeConversation(below))
}

function madeConversation(below: (end: number) => number): ChatMessage[] {
  const messages: ChatMessage[] = []
  const pending: string[] = []
  let words = 0
  const said = (role: 'system' | 'user' | 'assistant') =>
    messages.push({ role, content: `said_by_${role}_${words++}x`, ...(role === 'assistant' && { reasoning: 'Hm.' }) })
  const result = (id: string, kind: string) =>
    messages.push({ role: 'tool', content: `result_${kind}_${id}x`, toolCallId: id })
  const called = () => {
    const ids = Array.from({ length: 1 + below(2) }, () => String(words++).padStart(9, '0'))
    const toolCalls = ids.map((id) => ({ id, name: NAMES[below(2)]!, arguments: `{"city":"in_${id}x"}` }))
    messages.push({ role: 'assistant', content: below(2) ? `said_beside_${words++}x` : '', toolCalls })
    for (const id of below(3) ? ids : [...ids].reverse()) {
      const isLate = below(3) === 0
      result(id, isLate ? 'pending' : 'now')
      if (isLate) pending.push(id)
    }
  }
  if (below(5) < 2) said('system')
  for (let turns = 1 + below(5); turns > 0; turns--) {
    const chance = pending.length > 0 && below(3) === 0 ? 20 : below(18)
    if (chance < 8) said('user')
    else if (chance < 11) said('assistant')
    else if (chance < 12) said('system')
    else if (chance < 18) called()
    else result(pending.shift()!, 'late')
  }
  const last = messages.at(-1)!.role
  if (last === 'system' || last === 'assistant') said('user')
  return messages
}
