/**
 * Looks at a model before anything of it is downloaded: what it takes, whether it fits, how fast it would be. In a
 * worker of its own, since the probe computes for a second.
 */
import { type Fitter, keepFile, openFitter, webgpu } from 'local-v1/webgpu'
import type { Answer, Question, Wanted } from './look-messages.js'
import { wordsOf } from './words.js'

let fitter: Promise<Fitter> | undefined

export function answerLooks(): void {
  addEventListener('message', ({ data, ports: [port] }: MessageEvent<Question>) => {
    const say = (answer: Answer) => port?.postMessage(answer)
    reply(data, say).catch((error: unknown) => say({ failed: wordsOf(error) }))
  })
}

async function reply(question: Question, say: (answer: Answer) => void): Promise<void> {
  if (question.kind === 'keep') {
    say({ kept: await keepFile(question.files, { onProgress: (done, of) => say({ done, of }) }) })
    return
  }
  const { wanted, free, how } = question
  fitter ??= openFitter('auto', free)
  fitter.catch(() => {
    fitter = undefined
  })
  const opened = await fitter
  const found = async (wanted: Wanted, from: string): Promise<Answer> => {
    const fit = await opened.fit({ id: idOf(from), from: wanted as string | File[], ...how })
    return { found: { ...fit, from, device: opened.device } }
  }
  if (typeof wanted !== 'string') return say(await found(wanted, `kept:${firstOf(wanted)}`))
  const only = await found(wanted, wanted).catch((error: unknown) => {
    // A repository of GGUF files alone: the size that most people take.
    if (/^[\w.-]+\/[\w.-]+$/.test(wanted) && /it has neither/.test(String(error))) return undefined
    throw error
  })
  const size = `${wanted}:Q4_K_M`
  say(only ?? (await found(size, size)))
}

const firstOf = (files: readonly File[]): string => files.map(({ name }) => name).sort()[0] ?? ''

/** As the engine itself would call it. */
const idOf = (from: string): string => webgpu({ models: [from] }).models[0]!.id
