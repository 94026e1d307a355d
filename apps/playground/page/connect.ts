import type { LoadProgress as Progress } from 'local-v1'
import { install } from 'local-v1/service-worker'
import { askBy, type LoadProgress, overNetwork } from './api.js'
import { lookAtMachine, type Machine } from './machine.js'
import { keyForServer } from './server-key.js'

/** What answers this page, and what is known of it. */
export interface Connection {
  /** In this page by its service worker, or by the server that the page came from. */
  readonly place: 'page' | 'server'
  readonly machine: Machine
  /** What this browser does not allow here, in a sentence. */
  readonly limits?: string
  /** Another `/v1` that the server asks where it cannot answer; nobody else hears what is written. */
  readonly upstream?: string
}

/** What `local-v1 serve` says of itself beside the page. */
interface ServerFacts {
  readonly upstream?: string
}

/** `/v1` is there once it settles; in a page with `preload` on its way, whose news `onProgress` hears. */
export function connect(
  onProgress: (model: string, load: LoadProgress) => void,
  preload: string | undefined,
): Promise<Connection> {
  return document.documentElement.dataset.place === 'server' ? toServer() : toPage(onProgress, preload)
}

export const NO_ROOM = 'This browser stores too little for this page to work offline. Everything else works.'

async function toPage(
  onProgress: (model: string, load: LoadProgress) => void,
  preload: string | undefined,
): Promise<Connection> {
  const installed = await install({
    script: 'sw.js',
    worker: preload === undefined ? 'v1.js' : `v1.js?${new URLSearchParams({ preload })}`,
    type: 'classic',
    onProgress: (progress) => onProgress(progress.model, wire(progress)),
  })
  askBy(installed.fetch)
  const { limits } = installed
  return { place: 'page', machine: await lookAtMachine(installed), ...(limits !== undefined && { limits }) }
}

async function toServer(): Promise<Connection> {
  const facts = (await (await overNetwork(fetch('playground.json'))).json()) as ServerFacts
  const key = keyForServer()
  askBy((input, init) => {
    const headers = new Headers(init?.headers)
    const value = key()
    // A header carries nothing else, and so no key has it: the server says that it is wrong.
    if (/^[!-~]+$/.test(value)) headers.set('authorization', `Bearer ${value}`)
    // A cookie would be another way in; there is none, and none is to come.
    return overNetwork(fetch(input, { ...init, headers, credentials: 'omit' }))
  })
  const explanation = `Answered by the server at ${location.host}.`
  const machine = { webgpu: false, explanation, memoryGb: undefined, storage: undefined, elsewhere: true }
  return { place: 'server', machine, ...facts }
}

/** Progress as `/v1` would tell it. */
const wire = ({ phase, bytesLoaded, bytesTotal, secondsLeft }: Progress) => ({
  phase,
  bytes_loaded: bytesLoaded,
  bytes_total: bytesTotal,
  seconds_left: secondsLeft,
})
