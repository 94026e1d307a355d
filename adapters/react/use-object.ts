import { useCallback, useState } from 'react'
import { type DeepPartial, partial as partialOf } from '../../src/grammar/partial.js'
import { type DocumentOptions, documentRequest, textMessage, withoutStrict } from '../client/document.js'
import { endpointOf, events, firstModel, sendRequest, type Target } from '../client/endpoint.js'
import { checkEvidenceReply, type EvidenceOf, type EvidenceReply, evidenceOf } from '../client/evidence.js'
import { halfTheTime } from '../client/half-the-time.js'
import { type AnySchema, type DocumentOf, type Output, outputOf } from '../client/schema.js'
import { useLatest, useOneAtATime } from './latest.js'

export interface ObjectOptions<S extends AnySchema> extends DocumentOptions {
  /** zod's, another Standard Schema, or a JSON Schema. */
  readonly schema: S
  /** @default the first model of the service */
  readonly model?: string
  /**
   * Whether to say how sure the model was of each value and where the text says it.
   * @default false
   */
  readonly evidence?: boolean
}

export interface UsedObject<T, Document = T> {
  /** The text that is being read, or was read last. */
  readonly text: string | undefined
  /** The document so far: it fills in while it is written. */
  readonly partial: DeepPartial<T> | undefined
  /** The complete document. */
  readonly object: T | undefined
  /** The same before any transforms of the schema. */
  readonly document: Document | undefined
  /** For the values that are complete, with the option `evidence`. */
  readonly evidence: EvidenceOf<Document> | undefined
  /** How many texts were submitted. */
  readonly run: number
  readonly busy: boolean
  readonly error: Error | undefined
  /** Reads a text; the document of the previous one is removed. */
  submit(text: string): Promise<T | undefined>
  stop(): void
}

interface Delta {
  readonly choices: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly evidence?: EvidenceReply
  }[]
}

/** A document from a text, which fills in while the model writes. It is `strict`, so each value already fits the schema. */
export function useObject<const S extends AnySchema>(
  target: Target | undefined,
  options: ObjectOptions<S>,
): UsedObject<Output<S>, DocumentOf<S>> {
  const [text, setText] = useState<string>()
  const [partial, setPartial] = useState<DeepPartial<Output<S>>>()
  const [object, setObject] = useState<Output<S>>()
  const [document, setDocument] = useState<DocumentOf<S>>()
  const [evidence, setEvidence] = useState<EvidenceOf<DocumentOf<S>>>()
  const [run, setRun] = useState(0)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const latest = useLatest({ target, options })
  const turns = useOneAtATime()

  const submit = useCallback(
    async (text: string) => {
      const { target, options } = latest.current
      const turn = turns.begin()
      const { signal } = turn
      setText(text)
      setRun((before) => before + 1)
      setPartial(undefined)
      setObject(undefined)
      setDocument(undefined)
      setEvidence(undefined)
      setError(undefined)
      setBusy(true)
      try {
        if (!target) throw new Error('useObject: the service is not ready yet.')
        const endpoint = endpointOf(target)
        const model = options.model ?? (await firstModel(endpoint, signal))
        const body = { ...documentRequest(model, options.schema, text, options), stream: true }
        let content = ''
        const show = () => setPartial(partialOf<Output<S>>(content))
        const showSoon = halfTheTime(show)
        let reply: EvidenceReply | undefined
        for await (const { choices } of events<Delta>(
          await sendRequest(endpoint, '/chat/completions', { body, signal }).catch(withoutStrict),
        )) {
          const [choice] = choices
          if (choice?.evidence) {
            reply = { ...reply, ...choice.evidence }
            const known = evidenceOf(reply, textMessage(options)) as EvidenceOf<DocumentOf<S>>
            if (!signal.aborted) setEvidence(known)
          }
          const piece = choice?.delta?.content
          if (!piece) continue
          content += piece
          if (!signal.aborted) showSoon()
        }
        if (!signal.aborted) show()
        const written = JSON.parse(content) as DocumentOf<S>
        if (options.evidence) checkEvidenceReply(reply, written)
        const whole = await outputOf(options.schema, written)
        if (signal.aborted) return undefined
        setDocument(() => written)
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
  return { text, partial, object, document, evidence, run, busy, error, submit, stop: turns.stop }
}
