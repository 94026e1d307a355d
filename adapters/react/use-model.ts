import { useCallback, useEffect, useState } from 'react'
import { V1Error } from '../../src/contract/errors.js'
import { askJson, endpointOf, events, sendRequest, type Target } from '../client/endpoint.js'
import { keyOfTarget, useLatest, useOneAtATime } from './latest.js'

export interface ModelProgress {
  readonly phase: 'download' | 'read' | 'upload' | 'compile' | 'ready'
  readonly bytesLoaded: number
  readonly bytesTotal: number
  readonly secondsLeft?: number
}

/** `absent`: its first request, or `load`, loads it. */
export type ModelState = 'unknown' | 'absent' | 'loading' | 'ready' | 'failed'

export interface UsedModel {
  readonly state: ModelState
  /** While it is being loaded. */
  readonly progress: ModelProgress | undefined
  /** What `/v1/models` says about it: device, sizes, whether it fits. */
  readonly metadata: Readonly<Record<string, string | number | boolean | null>> | undefined
  readonly error: Error | undefined
  /** Needs a service with `manageModels: true`. */
  load(): Promise<void>
  /** Needs the same; also stops a running load. */
  unload(): Promise<void>
}

interface WireModel {
  readonly metadata?: Readonly<Record<string, string | number | boolean | null>>
}

interface WireProgress {
  readonly phase: ModelProgress['phase']
  readonly bytes_loaded: number
  readonly bytes_total: number
  readonly seconds_left?: number
}

/** Whether a model is loaded, the progress of its load, and what it needs. */
export function useModel(target: Target | undefined, model: string): UsedModel {
  const [state, setState] = useState<ModelState>('unknown')
  const [progress, setProgress] = useState<ModelProgress>()
  const [metadata, setMetadata] = useState<UsedModel['metadata']>()
  const [error, setError] = useState<Error>()
  const latest = useLatest({ target, model })
  const turns = useOneAtATime()

  const look = useCallback(
    async (signal?: AbortSignal) => {
      const { target, model } = latest.current
      if (!target) return
      const known = await askJson<WireModel>(endpointOf(target), `/models/${model}`, { signal })
      if (signal?.aborted) return
      setMetadata(known.metadata)
      setState(known.metadata?.loaded === true ? 'ready' : 'absent')
    },
    [latest],
  )
  const where = keyOfTarget(target)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another target or model is looked at anew
  useEffect(() => {
    const leaving = new AbortController()
    setState('unknown')
    setMetadata(undefined)
    setError(undefined)
    look(leaving.signal).catch((fault: Error) => {
      if (leaving.signal.aborted) return
      setError(fault)
      setState('failed')
    })
    return () => {
      leaving.abort()
      // Its progress and its end say nothing of another model.
      turns.stop()
    }
  }, [look, turns, where, model])

  const load = useCallback(async () => {
    const { target, model } = latest.current
    if (!target) return
    const turn = turns.begin()
    const { signal } = turn
    setError(undefined)
    setState('loading')
    try {
      const path = `/models/${model}/load`
      const response = await sendRequest(endpointOf(target), path, { method: 'POST', signal }).catch(explained)
      for await (const { phase, bytes_loaded, bytes_total, seconds_left } of events<WireProgress>(response)) {
        const left = seconds_left === undefined ? {} : { secondsLeft: seconds_left }
        setProgress({ phase, bytesLoaded: bytes_loaded, bytesTotal: bytes_total, ...left })
      }
      await look(signal)
    } catch (fault) {
      if (signal.aborted) return
      setError(fault instanceof Error ? fault : new Error(String(fault)))
      setState('failed')
    } finally {
      turns.end(turn, () => setProgress(undefined))
    }
  }, [latest, turns, look])

  const unload = useCallback(async () => {
    const { target, model } = latest.current
    if (!target) return
    turns.stop()
    await sendRequest(endpointOf(target), `/models/${model}/unload`, { method: 'POST' }).catch(explained)
    await look()
  }, [latest, turns, look])
  return { state, progress, metadata, error, load, unload }
}

/** A service that does not manage models knows no such address. */
function explained(error: unknown): never {
  if (V1Error.is(error) && error.code === 'unknown_url') {
    const message =
      'This service loads models with their first request only: createV1({ manageModels: true }) lets pages do it.'
    throw new V1Error(404, message, { code: 'unknown_url', cause: error })
  }
  throw error
}
