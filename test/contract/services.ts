import type { Engine } from '../../src/contract/engine.js'
import { createV1, memoryResponses, type UsageEvent, type V1 } from '../../src/index.js'
import { messages } from '../../src/service/endpoints/messages/index.js'
import { ollama } from '../../src/service/endpoints/ollama/index.js'
import { type ScenarioEngine, scenarioEngine } from './scenario.js'
import { scenario } from './scripts.js'

export const KEY = 'sk-contract'
export const OTHER_KEY = 'sk-other'
/** May be used for one project only. */
export const LIMITED_KEY = 'sk-limited'
export const ORIGIN = 'https://app.example'

/** The services behind every runtime, by base path. Each has an engine of its own. */
export interface Services {
  readonly all: readonly V1[]
  /** What the engine of one service has seen, for `/probe?base=/v1&model=test/hello`; undefined: not such a path. */
  probe(request: Request): Response | undefined
}

/** All that a service can have. */
const everything = {
  keys: [{ key: KEY, admin: true }, OTHER_KEY],
  endpoints: [messages(), ollama()],
  responses: memoryResponses(),
  aliases: { alias: 'test/every' },
  metrics: true,
  manageModels: true,
}

/** As engines with models of their own are. */
function managed(engine: Engine): Engine {
  return {
    ...engine,
    async load(model, onProgress) {
      onProgress({ model, phase: 'ready', bytesLoaded: 1, bytesTotal: 1, filesLoaded: 1, filesTotal: 1 })
    },
    async unload() {},
    async remove() {},
  }
}

/** `mount` may put something between each engine and its service. */
export function services(mount: (engine: Engine) => Engine = (engine) => engine): Services {
  const keys = [KEY, OTHER_KEY, { key: LIMITED_KEY, id: 'limited', projects: ['team/contract'] }]
  const arrived = new Map<string, number>()
  const engines = new Map<string, ScenarioEngine>()
  const service = (
    basePath: string,
    options: Partial<Parameters<typeof createV1>[0]> = {},
    own = (it: Engine) => it,
  ) => {
    const engine = scenarioEngine(scenario)
    engines.set(basePath, engine)
    const onUsage = ({ model, outcome }: UsageEvent) => {
      const { outcomes = {} } = engine.probe(model)
      engine.probe(model).outcomes = { ...outcomes, [outcome]: (outcomes[outcome] ?? 0) + 1 }
    }
    const v1 = createV1({ engine: mount(own(engine)), basePath, keys, onUsage, log: () => {}, ...options })
    const fetch: V1['fetch'] = (request, info) => {
      arrived.set(basePath, (arrived.get(basePath) ?? 0) + 1)
      return v1.fetch(request, info)
    }
    return { ...v1, fetch }
  }
  return {
    all: [
      service('/v1'),
      service('/deep/er/v1'),
      service('/tight/v1', { maxInFlight: 1, maxQueue: 1 }),
      service('/cors/v1', { cors: [ORIGIN] }),
      service('/open/v1', { keys: 'none' }),
      service('/every/v1', everything, managed),
    ],
    probe(request) {
      // Of a host that is none: those are asked for too, and an application must look out for them itself.
      if (!URL.canParse(request.url)) return undefined
      const { pathname, searchParams } = new URL(request.url)
      if (pathname !== '/probe') return undefined
      const base = searchParams.get('base')!
      return Response.json({ ...engines.get(base)!.probe(searchParams.get('model')!), arrived: arrived.get(base) ?? 0 })
    },
  }
}

/** What the application around the services answers. */
export function outside(services: Services, request: Request): Response {
  return services.probe(request) ?? new Response('the application', { status: 404 })
}
