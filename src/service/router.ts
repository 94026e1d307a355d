import type { Dialect, EndpointEntry, Method } from './answer/service.js'

/** What lies at one path: an endpoint for each method that it takes. */
export interface RoutePlace {
  readonly endpoints: ReadonlyMap<Method, EndpointEntry>
  /** The methods as `Allow` names them. */
  readonly allow: string
  /** In which all of them tell what every endpoint tells, where that is not as OpenAI does. */
  readonly dialect: Dialect | undefined
}

export interface FoundRoute extends RoutePlace {
  /** What stood in the path for each name in braces, decoded. */
  readonly named: Readonly<Record<string, string>>
}

const NOTHING_NAMED = {}

interface Pattern extends RoutePlace {
  /** The path as far as it is fixed. */
  readonly start: string
  /** What may follow it, decoded. */
  readonly rest: RegExp
  /** How much of it is said: of two that fit, the one that says more is meant. */
  readonly said: number
}

/** Finds endpoints by their paths. */
export class Router {
  readonly #fixed = new Map<string, FoundRoute>()
  readonly #patterns: Pattern[] = []
  /** Every endpoint as people write it. */
  readonly summary: string

  constructor(endpoints: readonly EndpointEntry[]) {
    this.summary = endpoints.map(({ method, path }) => `${method} ${path || '/'}`).join(', ')
    for (const path of new Set(endpoints.map((each) => each.path))) {
      const place = placeOf(endpoints.filter((each) => each.path === path))
      const open = path.indexOf('{')
      if (open < 0) this.#fixed.set(path, { ...place, named: NOTHING_NAMED })
      else {
        const said = path.replace(NAME, '').length
        this.#patterns.push({ ...place, start: path.slice(0, open), rest: restOf(path.slice(open)), said })
      }
    }
    this.#patterns.sort((a, b) => b.said - a.said)
  }

  find(written: string): FoundRoute | undefined {
    // Some clients write a slash at the end; no id and no path of ours ends in one.
    const path = written.endsWith('/') ? written.slice(0, -1) : written
    const place = this.#fixed.get(path)
    if (place !== undefined) return place
    for (const { start, rest, endpoints, allow, dialect } of this.#patterns) {
      const found = path.startsWith(start) ? rest.exec(decoded(path.slice(start.length))) : null
      if (found) return { endpoints, allow, dialect, named: found.groups! }
    }
    return undefined
  }
}

function placeOf(endpoints: readonly EndpointEntry[]): RoutePlace {
  const byMethod = new Map(endpoints.map((endpoint) => [endpoint.method, endpoint]))
  const allowed = [
    ...(byMethod.has('GET') ? ['GET', 'HEAD'] : []),
    ...(['POST', 'DELETE'] as const).filter((method) => byMethod.has(method)),
    'OPTIONS',
  ]
  return { endpoints: byMethod, allow: allowed.join(', '), dialect: endpoints.find((each) => each.dialect)?.dialect }
}

const NAME = /\{(\w+)\}/g

/** The id of a model has one slash: what comes after another is no part of it where something must follow. */
function restOf(rest: string): RegExp {
  if (rest === '{model}') return /^(?<model>.*)$/s
  return new RegExp(`^${rest.replace(NAME, (_, name) => `(?<${name}>[^/]+${name === 'model' ? '/[^/]+' : ''})`)}$`)
}

/** An id whose slash is escaped is the same id; one that cannot be read is nobody's. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
