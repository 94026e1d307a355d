import { useEffect, useState } from 'react'
import { type Answers, type DecideOptions, decide, type Questions } from '../client/decide.js'
import type { Target } from '../client/endpoint.js'
import { keyOfTarget, pause, useLatest, useOneAtATime } from './latest.js'

export interface DecisionOptions extends Omit<DecideOptions, 'from' | 'signal'> {
  /**
   * How long the state must stay the same before a request is sent, in milliseconds.
   * @default 250
   */
  readonly delayMs?: number
}

export interface UsedDecision<Q extends Questions> {
  /** The answers to these questions; while `busy`, about the previous state. */
  readonly answers: Answers<Q> | undefined
  /** A request for the newest state is running, or will be sent soon. */
  readonly busy: boolean
  /** Why the newest state has no answers. */
  readonly error: Error | undefined
  /** Stops the request for the newest state; the next change sends a new one. */
  stop(): void
}

/** What came of the newest request that was not given up, and for which questions. */
interface DecisionReply {
  readonly key: string
  readonly answers?: object
  readonly error?: Error
}

/**
 * Answers typed questions about a state that changes, such as a text while somebody types: a request is sent when it has
 * not changed for a while, and the previous one is aborted. Without a target or a state, nothing is sent.
 */
export function useDecision<const Q extends Questions>(
  target: Target | undefined,
  questions: Q,
  state: string | object | undefined,
  options: DecisionOptions = {},
): UsedDecision<Q> {
  const [reply, setReply] = useState<DecisionReply>()
  const [busy, setBusy] = useState(false)
  const latest = useLatest({ target, questions, state, options })
  const turns = useOneAtATime()
  // Written in place, all of these are new objects with every render: what they say is compared.
  const key = JSON.stringify(questions)
  const about = JSON.stringify([state, options.model, options.order, options.effort, options.calibrated])
  const where = keyOfTarget(target)

  // biome-ignore lint/correctness/useExhaustiveDependencies: what another answer would come of
  useEffect(() => {
    const { target, questions, state, options } = latest.current
    if (!target || state === undefined || state === '') {
      setReply(undefined)
      return
    }
    const turn = turns.begin()
    const { signal } = turn
    const answer = async () => {
      const { delayMs = 250, ...rest } = options
      try {
        await pause(delayMs, signal)
        const answers = await decide(questions, state, { ...rest, from: target, signal })
        if (!signal.aborted) setReply({ key, answers })
      } catch (fault) {
        if (!signal.aborted) setReply({ key, error: fault instanceof Error ? fault : new Error(String(fault)) })
      } finally {
        turns.end(turn, () => setBusy(false))
      }
    }
    setBusy(true)
    void answer()
    return () => turn.abort()
  }, [latest, turns, key, about, where])

  // Answers to other questions are not what the types say of these.
  const { answers, error } = reply?.key === key ? reply : ({} as Partial<DecisionReply>)
  return { answers: answers as Answers<Q> | undefined, busy, error, stop: turns.stop }
}
