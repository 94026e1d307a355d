/** In a worker of the page, so that the page stays alive: carries out one order. */
import { carryOut, type Order } from '../harness/elsewhere.js'
import type { Report } from '../harness/report.js'

/** What the worker says to its page. */
export type Message = { readonly progress: string } | { readonly report: Report } | { readonly error: string }

const say = (message: Message) => postMessage(message)

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  carryOut(data, (progress) => say({ progress })).then(
    (report) => say({ report }),
    (error: unknown) => say({ error: error instanceof Error ? error.message : String(error) }),
  )
})
