import { useEffect, useState } from 'react'
import { type Answers, type DecideOptions, decide, type Questions } from '../client/decide.js'
import type { Target } from '../client/endpoint.js'
import { pause, useLatest, useOneAtATime } from './latest.js'

export interface DecisionOptions extends Omit<DecideOptions, 'from' | 'signal'> {
  /**
   * How long nothing may change before it is asked, in milliseconds.
   * @default 250
   */
  readonly delayMs?: number
}

export interface UsedDecision<Q extends Questions> {
  /** Of these questions; about the state before, while `busy`. */
  readonly answers: Answers<Q> | undefined
  /** What is shown is asked anew, or is about to be. */
  readonly busy: boolean
  /** Why the newest state has no answers. */
  readonly error: Error | undefined
  /** The newest state stays unanswered; the next change asks again. */
  stop(): void
}

/** What came of the newest request that was not given up, and for which questions. */
interface Told {
  readonly asked: string
  readonly answers?: object
  readonly error?: Error
}

/**
 * Typed questions about a state that changes, as while somebody types: asked once it stands still, and the request
 * before is given up. Nothing is asked without a target, or about no state or an empty text.
 */
export function useDecision<const Q extends Questions>(
  target: Target | undefined,
  questions: Q,
  state: string | object | undefined,
  options: DecisionOptions = {},
): UsedDecision<Q> {
  const [told, setTold] = useState<Told>()
  const [busy, setBusy] = useState(false)
  const latest = useLatest({ target, questions, state, options })
  const turns = useOneAtATime()
  // Written in place, all of these are new objects with every render: what they say is compared.
  const asked = JSON.stringify(questions)
  const about = JSON.stringify([state, options.model, options.order, options.effort, options.calibrated])
  const where = target && 'baseURL' in target ? `${target.baseURL} ${target.apiKey}` : target

  // biome-ignore lint/correctness/useExhaustiveDependencies: what another answer would come of
  useEffect(() => {
    const { target, questions, state, options } = latest.current
    if (!target || state === undefined || state === '') {
      setTold(undefined)
      return
    }
    const turn = turns.begin()
    const { signal } = turn
    const answer = async () => {
      const { delayMs = 250, ...rest } = options
      try {
        await pause(delayMs, signal)
        const answers = await decide(questions, state, { ...rest, from: target, signal })
        if (!signal.aborted) setTold({ asked, answers })
      } catch (fault) {
        if (!signal.aborted) setTold({ asked, error: fault instanceof Error ? fault : new Error(String(fault)) })
      } finally {
        turns.end(turn, () => setBusy(false))
      }
    }
    setBusy(true)
    void answer()
    return () => turn.abort()
  }, [latest, turns, asked, about, where])

  // Answers to other questions are not what the types say of these.
  const { answers, error } = told?.asked === asked ? told : ({} as Partial<Told>)
  return { answers: answers as Answers<Q> | undefined, busy, error, stop: turns.stop }
}
