import { V1Error } from '../src/contract/errors.js'
import type { ConnectionInfo, V1 } from '../src/index.js'

/** A route handler with the type that `next build` requires. */
export type RouteHandler = (request: Request) => Promise<Response>

export interface RouteHandlers {
  readonly GET: RouteHandler
  readonly POST: RouteHandler
  readonly DELETE: RouteHandler
  readonly OPTIONS: RouteHandler
}

/**
 * One service for each base path of the process: development loads a route anew with every change near it, and a model
 * must not be. What creates it is compared by its source.
 */
const OPEN = Symbol.for('local-v1/next')
type Open = { [OPEN]?: Map<string, { readonly v1: V1; readonly source: string }> }

/**
 * The route handlers of Next's App Router, for `app/api/v1/[...path]/route.ts`:
 *
 * ```ts
 * export const { GET, POST, DELETE, OPTIONS } = next('/api/v1', (basePath) =>
 *   createV1({ basePath, engine: webgpu({ models }), keys }),
 * )
 * ```
 *
 * `create` is called with the first request, and never by `next build`, which loads every route. In development it is
 * called again when its own text has changed: what it takes from outside, such as an engine, stays as it was.
 *
 * Next does not tell a route where a connection comes from. In development only local host names are answered, against DNS
 * rebinding; in production set `hosts`.
 */
export function next(basePath: string, create: (basePath: string) => V1): RouteHandlers {
  if (typeof create !== 'function') {
    throw new TypeError("next: give the path and a function, as in next('/api/v1', (basePath) => createV1({ ... })).")
  }
  const here = globalThis as Open
  here[OPEN] ??= new Map()
  const open = here[OPEN]
  const source = create.toString()
  const service = (): V1 => {
    const there = open.get(basePath)
    if (there?.source === source) return there.v1
    const v1 = create(basePath)
    open.set(basePath, { v1, source })
    void there?.v1.close()
    return v1
  }
  const handler = async (request: Request, context?: Context): Promise<Response> => {
    if ('EdgeRuntime' in globalThis) return refuseEdge()
    const v1 = service()
    const path = v1.match(request) ? undefined : await pathBelow(v1.basePath, context)
    return v1.fetch(asAddressed(request, path), process.env.NODE_ENV === 'development' ? HERE : undefined)
  }
  return { GET: handler, POST: handler, DELETE: handler, OPTIONS: handler }
}

const HERE: ConnectionInfo = { localAddress: '127.0.0.1' }

/** A promise of them since Next 15. */
type Context = { readonly params?: object }

/** Where a rewrite has led to the route, the URL is still the client's: the segments say what is asked for. */
async function pathBelow(basePath: string, context: Context | undefined): Promise<string | undefined> {
  const segments: unknown[] | undefined = Object.values((await context?.params) ?? {}).find(Array.isArray)
  return segments && [basePath, ...segments.map((segment) => encodeURIComponent(String(segment)))].join('/')
}

function refuseEdge(): Response {
  const message = "No model runs in Next's edge runtime: remove runtime = 'edge' from this route."
  return Response.json(new V1Error(503, message, { code: 'no_device' }), {
    status: 503,
    headers: { 'x-should-retry': 'false' },
  })
}

/** Next writes its own host name into the URL; what the client wrote is what must be looked at. */
function asAddressed(request: Request, path: string | undefined): Request {
  const host = request.headers.get('host')
  const url = request.url.replace(
    /^([a-z]+:\/\/)([^/?#]*)([^?#]*)/i,
    (_, scheme: string, own: string, asked: string) => scheme + (host ?? own) + (path ?? asked),
  )
  if (url === request.url) return request
  // A proxy, not a copy: a host that is no host cannot be in a Request, and is for the service to refuse.
  return new Proxy(request, {
    get(target, name) {
      if (name === 'url') return url
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

interface Header {
  readonly key: string
  readonly value: string
}

type HeaderRule = { source: string; headers: Header[] }

/** The part of Next's configuration that is used here. */
export interface NextConfigPart {
  serverExternalPackages?: string[]
  headers?: () => HeaderRule[] | Promise<HeaderRule[]>
  outputFileTracingIncludes?: Record<string, string[]>
}

/**
 * For `next.config.ts`: `export default withLocalV1({ ... })`. Keeps packages with files of their own (`webgpu`,
 * `local-v1-nano`) out of the bundle, has what the worker and nano read copied by `output: 'standalone'`, and isolates pages
 * (COOP and COEP), so that the CPU device can use threads in browsers; with `isolate: false` it does not isolate them.
 */
export function withLocalV1<Config extends object>(
  config: Config & NextConfigPart,
  { isolate = true }: { isolate?: boolean } = {},
): Config & NextConfigPart {
  const { serverExternalPackages = [], outputFileTracingIncludes: traced, headers } = config
  const isolated = { source: '/:path*', headers: ISOLATION }
  return {
    ...config,
    serverExternalPackages: [...new Set([...serverExternalPackages, ...EXTERNAL])],
    outputFileTracingIncludes: { ...traced, [EVERYWHERE]: [...(traced?.[EVERYWHERE] ?? []), READ] },
    ...(isolate && { headers: async () => [...((await headers?.()) ?? []), isolated] }),
  }
}

const EXTERNAL = ['webgpu', 'local-v1-nano', '@mlc-ai/web-llm']
/** The worker runs outside of the bundle, and nobody imports a model's weights: Next cannot see that they are needed. */
const EVERYWHERE = '/**'
const READ = './node_modules/{local-v1,local-v1-nano,@noble/hashes,@huggingface/jinja,@huggingface/tokenizers}/**/*'
const ISOLATION = [
  { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
  { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
]
