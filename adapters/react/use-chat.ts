import { useCallback, useRef, useState } from 'react'
import { endpointOf, events, firstModel, sendRequest, type Target } from '../client/endpoint.js'
import { useLatest, useOneAtATime } from './latest.js'

export interface ChatMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

export interface ChatOptions {
  /** @default the first model of the service */
  readonly model?: string
  /** Instructions before the conversation. */
  readonly system?: string
  /** @default as the model's makers recommend */
  readonly temperature?: number
  /** @default as the context allows */
  readonly maxTokens?: number
  /** Earlier messages. */
  readonly initial?: readonly ChatMessage[]
}

export interface Chat {
  /** The last one grows while it is written. */
  readonly messages: readonly ChatMessage[]
  readonly busy: boolean
  /** Why the last message has no answer, until the next is sent. */
  readonly error: Error | undefined
  /** Settles when the answer is complete, was stopped or has failed; then see `error`. */
  send(text: string): Promise<void>
  /** Stops the answer and keeps what is written so far. */
  stop(): void
  /** Removes all messages. */
  clear(): void
}

interface Delta {
  readonly choices: readonly { readonly delta?: { readonly content?: string | null } }[]
}

/** A conversation with a model on this device. `target` is a service, the result of `install`, or `{ baseURL }`. */
export function useChat(target: Target | undefined, options: ChatOptions = {}): Chat {
  const [messages, setMessages] = useState<readonly ChatMessage[]>(options.initial ?? [])
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const latest = useLatest({ target, options })
  const turns = useOneAtATime()
  // What is called next in the same event comes before anything is rendered.
  const said = useRef(messages)
  const show = useCallback((messages: readonly ChatMessage[]) => {
    said.current = messages
    setMessages(messages)
  }, [])

  const send = useCallback(
    async (text: string) => {
      const { target, options } = latest.current
      const turn = turns.begin()
      const { signal } = turn
      const sent: readonly ChatMessage[] = [...said.current, { role: 'user', content: text }]
      show(sent)
      setError(undefined)
      setBusy(true)
      let content = ''
      try {
        if (!target) throw new Error('useChat: the service is not ready yet.')
        const endpoint = endpointOf(target)
        const { system, temperature, maxTokens } = options
        const body = {
          model: options.model ?? (await firstModel(endpoint, signal)),
          messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...sent],
          stream: true,
          ...(temperature !== undefined && { temperature }),
          ...(maxTokens !== undefined && { max_tokens: maxTokens }),
        }
        for await (const { choices } of events<Delta>(
          await sendRequest(endpoint, '/chat/completions', { body, signal }),
        )) {
          const piece = choices[0]?.delta?.content
          if (!piece) continue
          content += piece
          if (!signal.aborted) show([...sent, { role: 'assistant', content }])
        }
      } catch (fault) {
        if (!signal.aborted) setError(fault instanceof Error ? fault : new Error(String(fault)))
      } finally {
        turns.end(turn, () => setBusy(false))
      }
    },
    [latest, turns, show],
  )
  const clear = useCallback(() => {
    turns.stop()
    show([])
    setError(undefined)
  }, [turns, show])
  return { messages, busy, error, send, stop: turns.stop, clear }
}
