// A /v1 on Deno.
//   local-v1 as docs/start/deno.md installs it
//   deno run --allow-net --allow-env deno.ts
import { createV1, textOf } from 'local-v1'
import { deno } from 'local-v1/deno'
import { scripted } from 'local-v1/testing'

// Any engine works here: one that runs models on this device, or upstream() for another /v1.
const engine = scripted({ models: { 'demo/parrot': ({ messages }) => textOf(messages.at(-1)!.content) } })

const v1 = createV1({ engine, keys: [Deno.env.get('V1_KEY') ?? 'sk-local'] })

Deno.serve(
  {
    hostname: '127.0.0.1',
    port: Number(Deno.env.get('PORT') ?? 8080),
    onListen: ({ port }) => console.log(`listening on http://127.0.0.1:${port}/v1`),
  },
  deno(v1, () => new Response('The rest of the application.')),
)
