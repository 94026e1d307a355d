import { useCallback, useState } from 'react'
import { type DeepPartial, partial as partialOf } from '../../src/structured/partial.js'
import { type DocumentOptions, documentRequest } from '../client/document.js'
import { ask, endpointOf, events, firstModel, type Target } from '../client/endpoint.js'
import { type AnySchema, type Output, outputOf } from '../client/schema.js'
import { useLatest, useOneAtATime } from './latest.js'

export interface ObjectOptions<S extends AnySchema> extends DocumentOptions {
  /** zod's, another Standard Schema, or a JSON Schema. */
  readonly schema: S
  /** @default the first that is offered */
  readonly model?: string
}

export interface UsedObject<T> {
  /** The document so far: it fills in while it is written. */
  readonly partial: DeepPartial<T> | undefined
  /** The whole document, once it is there. */
  readonly object: T | undefined
  readonly busy: boolean
  readonly error: Error | undefined
  /** Reads a text; the document of the one before is forgotten. */
  submit(text: string): Promise<T | undefined>
  stop(): void
}

interface Delta {
  readonly choices: readonly { readonly delta?: { readonly content?: string | null } }[]
}

/** A document from a text, as it comes: with `strict`, so that what is there already is as the schema has it. */
export function useObject<const S extends AnySchema>(
  target: Target | undefined,
  options: ObjectOptions<S>,
): UsedObject<Output<S>> {
  const [partial, setPartial] = useState<DeepPartial<Output<S>>>()
  const [object, setObject] = useState<Output<S>>()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const latest = useLatest({ target, options })
  const turns = useOneAtATime()

  const submit = useCallback(
    async (text: string) => {
      const { target, options } = latest.current
      const turn = turns.begin()
      const { signal } = turn
      setPartial(undefined)
      setObject(undefined)
      setError(undefined)
      setBusy(true)
      try {
        if (!target) throw new Error('useObject: the target is not there yet.')
        const endpoint = endpointOf(target)
        const model = options.model ?? (await firstModel(endpoint, signal))
        const body = { ...documentRequest(model, options.schema, text, options), stream: true }
        let content = ''
        for await (const { choices } of events<Delta>(await ask(endpoint, '/chat/completions', { body, signal }))) {
          const piece = choices[0]?.delta?.content
          if (!piece) continue
          content += piece
          if (!signal.aborted) setPartial(partialOf<Output<S>>(content))
        }
        const whole = await outputOf(options.schema, JSON.parse(content))
        if (signal.aborted) return undefined
        setObject(whole)
        return whole
      } catch (fault) {
        if (!signal.aborted) setError(fault instanceof Error ? fault : new Error(String(fault)))
        return undefined
      } finally {
        turns.end(turn, () => setBusy(false))
      }
    },
    [latest, turns],
  )
  return { partial, object, busy, error, submit, stop: turns.stop }
}
