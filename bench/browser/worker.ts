/** In a worker of the page, so that the page stays alive: measures, or profiles. */
import { type BenchOrder, carryOut } from '../../src/bench/elsewhere.js'
import type { BenchReport } from '../../src/bench/report.js'
import type { Candidate } from '../../src/bench/subject.js'
import { type WllamaOptions, wllamaCandidate, wllamaRefusal } from '../peers/wllama.js'
import { type ProfileOrder, profiled } from '../profile/carry-out.js'
import type { Profile } from '../profile/profile.js'

export interface PageOrder extends BenchOrder {
  /** @default it does not stand beside us */
  readonly wllama?: readonly WllamaOptions[]
}

export type Wanted = { readonly measure: PageOrder } | { readonly profile: Omit<ProfileOrder, 'progress'> }

/** What the worker says to its page. */
export type Message<Result = BenchReport | Profile> =
  | { readonly progress: string }
  | { readonly result: Result }
  | { readonly error: string }

const say = (message: Message) => postMessage(message)
const progress = (step: string) => say({ progress: step })

async function carriedOut(wanted: Wanted): Promise<BenchReport | Profile> {
  if ('profile' in wanted) return profiled({ ...wanted.profile, progress })
  const { wllama = [], ...order } = wanted.measure
  const peers: Candidate[] = []
  const refused: string[] = []
  for (const options of wllama) {
    const refusal = await wllamaRefusal(options)
    if (refusal === undefined) peers.push(wllamaCandidate(options))
    else refused.push(refusal)
  }
  const report = await carryOut(order, progress, peers)
  return { ...report, notes: [...report.notes, ...refused] }
}

addEventListener('message', ({ data }: MessageEvent<Wanted>) => {
  carriedOut(data).then(
    (result) => say({ result }),
    (error: unknown) => say({ error: error instanceof Error ? error.message : String(error) }),
  )
})
