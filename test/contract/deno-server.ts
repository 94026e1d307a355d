/** Run by Deno: the services behind `Deno.serve`, until it is killed. */
import { deno } from '../../adapters/deno.js'
import { outside, services } from './services.js'

type Handler = (
  request: Request,
  info: { readonly remoteAddr: { readonly hostname: string } },
) => Response | Promise<Response>

declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen(address: { port: number }): void },
    handler: Handler,
  ): unknown
}

const here = services()
const handler = here.all.reduceRight<Handler>(
  (next, v1) => deno(v1, next),
  (request) => outside(here, request),
)

Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: ({ port }) => console.log(`listening on ${port}`) }, handler)
