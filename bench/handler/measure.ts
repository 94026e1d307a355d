/** What `index.ts` bundles. Rounds alternate, and the best of each counts, by the processor's time: noise only ever adds. */
import { streamsOverHttp, wholeOverHttp } from './over-http.js'
import { bareHono, call, type Fetch, instantEngine, ours, requestFor } from './services.js'
import { best, clock, times } from './timing.js'

const REQUESTS = 400
const TOKENS = 1000
const STREAMS = 6

async function readAll({ body }: Response): Promise<undefined> {
  const reader = body!.getReader()
  while (!(await reader.read()).done);
  return undefined
}

/** From the request to its first byte; the leaving after it is not counted. */
const toFirst = (fetch: Fetch) => async (): Promise<number> => {
  const request = requestFor(true)
  const began = clock()
  const reader = (await fetch(request)).body!.getReader()
  await reader.read()
  const us = clock() - began
  await reader.cancel()
  return us
}

const short = instantEngine(1)
const long = instantEngine(TOKENS)
const drain = (engine: typeof short) => async () => {
  for await (const _part of engine.generate(call));
  return undefined
}
/** From a request that is there to the end of its answer. */
const asking = (fetch: Fetch, stream: boolean, read: (response: Response) => Promise<unknown>) => async () => {
  const request = requestFor(stream)
  const began = clock()
  await read(await fetch(request))
  return clock() - began
}
/** What any handler pays to the platform: reading a body, making an answer that is read. */
const platformAlone = async () => {
  const request = requestFor(false)
  const began = clock()
  await request.text()
  await new Response('{}', { headers: { 'content-type': 'application/json' } }).text()
  return clock() - began
}
/** A stream of the platform over the same parts, with nothing done to them. */
const streamAlone = async () => {
  const parts = long.generate(call)
  const encoder = new TextEncoder()
  const body = new ReadableStream(
    {
      async pull(controller) {
        const { done } = await (parts as AsyncGenerator).next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode('data: {}\n\n'))
      },
    },
    { highWaterMark: 0 },
  )
  return readAll(new Response(body))
}

const text = (response: Response) => response.text()
const [mine, bare] = [ours(short), bareHono(short)]
const [mineLong, bareLong] = [ours(long), bareHono(long)]

const perRequest = await best(
  {
    engine: times(REQUESTS, drain(short)),
    'platform alone': times(REQUESTS, platformAlone),
    'bare hono': times(REQUESTS, asking(bare, false, text)),
    'local-v1': times(REQUESTS, asking(mine, false, text)),
  },
  REQUESTS,
)
const toFirstByte = await best(
  {
    engine: times(REQUESTS, drain(short)),
    'bare hono': times(REQUESTS, toFirst(bare)),
    'local-v1': times(REQUESTS, toFirst(mine)),
  },
  REQUESTS,
)
const perToken = await best(
  {
    engine: times(STREAMS, drain(long)),
    'stream alone': times(STREAMS, streamAlone),
    'bare hono': times(STREAMS, asking(bareLong, true, readAll)),
    'local-v1': times(STREAMS, asking(mineLong, true, readAll)),
  },
  STREAMS * TOKENS,
)

const whole = await wholeOverHttp()
const http = await streamsOverHttp()

function show(title: string, unit: string, results: Record<string, number>): void {
  console.log(`\n${title}`)
  for (const [name, us] of Object.entries(results)) {
    const added = us - results.engine!
    const rate = unit === 'request' ? `  ${Math.round(1e6 / us).toLocaleString('en')} requests/s` : ''
    console.log(`  ${name.padEnd(14)} ${us.toFixed(2).padStart(8)} us  added ${added.toFixed(2).padStart(8)} us${rate}`)
  }
}

show('a request, whole answer', 'request', perRequest)
show('a streamed request, to its first byte', 'request', toFirstByte)
show(`a whole answer over node:http, both ends, ${whole.bytes} bytes`, 'request', whole.perAnswer)
show('a token of a stream, as fast as they are read: those of 3 ms are one piece', 'token', perToken)
show('a token of a stream over node:http, both ends, from an engine that works for each', 'token', http.perToken)
for (const [name, pieces] of Object.entries(http.pieces))
  console.log(`  ${name.padEnd(14)} ${pieces} pieces for ${http.tokens} tokens`)
console.log(`\nlocal-v1 against a bare Hono route: request x${(perRequest['local-v1']! / perRequest['bare hono']!).toFixed(2)}, \
token x${(perToken['local-v1']! / perToken['bare hono']!).toFixed(2)}, \
whole answer over node:http x${(whole.perAnswer['local-v1']! / whole.perAnswer['bare hono']!).toFixed(2)}`)
