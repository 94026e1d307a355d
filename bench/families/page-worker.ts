/** Our core in a worker of a page: there a thread may wait for the others. */
import { ourSide } from './ours.js'
import type { Side } from './side.js'

/** What the page is given to ask for: a call of the side, after `open` has made it. */
type Call =
  | { readonly open: File; readonly threads: number; readonly context: number }
  | { readonly call: keyof Side; readonly value: number }

let side: Side | undefined

async function done(message: Call): Promise<number | undefined> {
  if ('open' in message) {
    const { open, threads, context } = message
    side = await ourSide({ kind: 'files', files: [open] }, { threads, context, clock: () => performance.now() })
    return undefined
  }
  return (await side![message.call](message.value)) ?? undefined
}

addEventListener('message', ({ data }: MessageEvent<Call>) => {
  done(data).then(
    (value) => postMessage({ value }),
    (error: unknown) => postMessage({ error: error instanceof Error ? error.message : String(error) }),
  )
})
