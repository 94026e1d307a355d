import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Who may import whom, types included. A room is a folder or some files; a path belongs to the room that names the
 * longest part of it, so a folder may have a room of its own within another's. From the ground up: a room imports only
 * what stands above its own line, so there are no circles.
 */
const ROOMS: Readonly<Record<string, Room>> = {
  // What everybody may know: the contract with engines, the one error class, what runtimes do differently.
  contract: { holds: ['src/engine.ts', 'src/errors.ts', 'src/sampling.ts'] },
  platform: { holds: ['src/platform'] },
  // Models to begin with: for the command line and the playground, which import it from here.
  catalog: { holds: ['src/catalog.ts'] },
  // Dates, numbers and durations as people write them.
  readers: { holds: ['src/readers'], imports: ['platform'] },

  // JSON Schema to token masks.
  'structured ground': {
    holds: [
      ...[
        'src/structured/fuel.ts',
        'src/structured/kept.ts',
        'src/structured/schema-error.ts',
        'src/structured/spelling.ts',
      ],
      'src/structured/grammar-error.ts',
    ],
  },
  // Languages of strings, and what comes to one: numbers, regular expressions, formats.
  'structured automata': { holds: ['src/structured/automata'], imports: ['platform', 'structured ground'] },
  'structured numbers': {
    holds: ['src/structured/numbers'],
    imports: ['platform', 'structured ground', 'structured automata'],
  },
  'structured regex': {
    holds: ['src/structured/regex'],
    imports: ['platform', 'structured ground', 'structured automata'],
  },
  'structured formats': {
    holds: ['src/structured/formats'],
    imports: ['structured ground', 'structured automata', 'structured regex'],
  },
  // What an automaton reads: sets of JSON values, and how they are written.
  'structured values': {
    holds: ['src/structured/values'],
    imports: ['platform', 'structured ground', 'structured automata'],
  },
  // What each keyword says, and the loops that ask them all.
  'structured schema': {
    holds: ['src/structured/schema', 'src/structured/keywords'],
    imports: [
      ...['platform', 'structured ground', 'structured automata', 'structured numbers', 'structured regex'],
      ...['structured formats', 'structured values'],
    ],
  },
  'structured automaton': {
    holds: ['src/structured/automaton', 'src/structured/walk.ts'],
    imports: ['structured ground', 'structured automata', 'structured values'],
  },
  'structured tokens': {
    holds: ['src/structured/tokens'],
    imports: ['contract', 'platform', 'structured ground', 'structured automata', 'structured automaton'],
  },
  'structured rules': {
    holds: ['src/structured/rules'],
    imports: [
      ...['contract', 'platform', 'structured ground', 'structured automata', 'structured regex'],
      ...['structured values', 'structured schema', 'structured automaton'],
    ],
  },
  structured: {
    holds: ['src/structured'],
    imports: [
      ...['contract', 'platform', 'structured ground', 'structured schema', 'structured automaton'],
      ...['structured values', 'structured tokens', 'structured rules'],
    ],
  },

  // What requests demand of answers: schemas and tools, compiled, and the judge of what was written.
  constraints: { holds: ['src/constraints'], imports: ['contract', 'platform', 'structured'] },

  // Patterns of strangers, run without going back.
  patterns: {
    holds: ['src/decode/pattern'],
    imports: ['structured ground', 'structured automata', 'structured regex'],
  },

  // Where the values of a document stand, in it and in the conversation.
  evidence: { holds: ['src/evidence'], imports: ['contract', 'platform', 'readers'] },

  // The decode loop, and the files of models.
  'token model': { holds: ['src/decode/token-model.ts'], imports: ['contract'] },
  // A question in words, which models elsewhere are asked in too.
  asking: { holds: ['src/decode/decide/questions.ts'], imports: ['contract'] },
  decode: {
    holds: ['src/decode'],
    imports: [
      ...['contract', 'platform', 'structured', 'structured tokens', 'evidence', 'patterns', 'token model', 'asking'],
    ],
  },
  // From texts to vectors and scores: what the decode loop is for text.
  'vector model': { holds: ['src/encode/vector-model.ts'] },
  encode: { holds: ['src/encode'], imports: ['contract', 'platform', 'decode', 'asking', 'vector model'] },
  repository: { holds: ['src/repository'], imports: ['contract', 'platform', 'patterns', 'decode'] },

  // Engines. The half of `webgpu` that computes knows tensors, and neither requests nor schemas.
  scripted: { holds: ['src/engines/scripted.ts'], imports: ['contract', 'platform'] },
  upstream: { holds: ['src/engines/upstream', 'src/engines/upstream.ts'], imports: ['contract', 'asking'] },
  'prompt api': { holds: ['src/engines/prompt-api'], imports: ['contract', 'decode'] },
  remote: { holds: ['src/engines/remote'], imports: ['contract', 'platform', 'structured', 'constraints'] },
  'model set': { holds: ['src/engines/model-set.ts'], imports: ['contract', 'repository'] },
  // What a device can compute, on the ground; below it side by side the GPU, whose kernels operations are made of too, and
  // its twin, the CPU.
  device: {
    holds: ['contract.ts', 'contract', 'operations', 'gpu/kernels', 'sampling.ts'].map(
      (name) => `src/engines/webgpu/${name}`,
    ),
    imports: ['token model', 'platform'],
  },
  gpu: { holds: ['src/engines/webgpu/gpu'], imports: ['contract', 'platform', 'token model', 'device'] },
  cpu: { holds: ['src/engines/webgpu/cpu'], imports: ['contract', 'platform', 'token model', 'device'] },
  sampling: { holds: ['src/engines/webgpu/model/settings.ts'], imports: ['token model', 'device'] },
  plan: {
    holds: ['model-plan.ts', 'angles.ts', 'refuse.ts'].map((name) => `src/engines/webgpu/model/${name}`),
    imports: ['contract', 'device'],
  },
  architectures: { holds: ['src/engines/webgpu/architectures'], imports: ['device', 'platform', 'repository', 'plan'] },
  model: {
    holds: ['src/engines/webgpu/model', 'src/engines/webgpu/core.ts'],
    imports: [
      ...['contract', 'platform', 'decode', 'token model', 'repository', 'device', 'sampling', 'plan'],
      'architectures',
    ],
  },
  encoders: {
    holds: ['src/engines/webgpu/encoders'],
    imports: [...['contract', 'platform', 'vector model', 'repository', 'device', 'plan', 'architectures', 'model']],
  },
  webgpu: {
    holds: ['src/engines/webgpu'],
    imports: [
      ...['contract', 'platform', 'decode', 'encode', 'encoders', 'repository', 'remote', 'model set', 'device', 'gpu'],
      ...['cpu', 'model'],
    ],
  },
  'llama cpp': {
    holds: ['src/engines/llama-cpp'],
    imports: [
      ...[
        'contract',
        'decode',
        'encode',
        'structured tokens',
        'token model',
        'vector model',
        'repository',
        'model set',
      ],
      ...['device', 'sampling', 'encoders'],
    ],
  },
  webllm: {
    holds: ['src/engines/webllm'],
    imports: [
      ...['contract', 'platform', 'decode', 'token model', 'repository', 'remote', 'model set', 'device', 'sampling'],
    ],
  },

  // The service: a request in, a response out. It knows engines by their contract alone.
  stream: { holds: ['src/stream'], imports: ['platform'] },
  usage: { holds: ['src/usage'], imports: ['contract', 'platform'] },
  wire: { holds: ['src/wire'], imports: ['contract', 'platform', 'readers', 'stream'] },
  responses: { holds: ['src/responses'], imports: ['platform', 'wire'] },
  door: {
    holds: ['auth', 'base-path', 'entrance', 'log', 'origin', 'project', 'queue', 'request-url'].map(
      (name) => `src/${name}.ts`,
    ),
    imports: ['contract', 'platform'],
  },
  routes: {
    holds: ['src/routes', 'src/endpoints.ts'],
    imports: [
      ...['contract', 'platform', 'readers', 'structured', 'constraints', 'stream', 'usage', 'wire', 'responses'],
      'door',
    ],
  },
  // Interfaces beside OpenAI's, each an entry point of its own.
  messages: { holds: ['src/messages'], imports: ['contract', 'platform', 'stream', 'wire', 'routes'] },
  ollama: { holds: ['src/ollama'], imports: ['contract', 'platform', 'stream', 'wire', 'routes'] },
  service: {
    holds: ['src/v1.ts', 'src/respond.ts', 'src/index.ts'],
    imports: [
      ...[
        'contract',
        'platform',
        'structured',
        'constraints',
        'stream',
        'usage',
        'wire',
        'responses',
        'door',
        'routes',
      ],
    ],
  },

  // What stands around it.
  // The error class by its own file: a bundle keeps all that the barrel names for whoever takes a value from it.
  adapters: { holds: ['adapters'], only: ['src/index.ts', 'src/errors.ts', 'src/structured/partial.ts'], node: true },
  'service worker': { holds: ['adapters/service-worker'], only: ['src/index.ts', 'src/errors.ts'] },
  'browser file': { holds: ['adapters/browser.ts'], imports: ['webgpu', 'service', 'service worker'] },
  bench: {
    holds: ['src/bench'],
    imports: [
      ...['contract', 'platform', 'structured', 'constraints', 'decode', 'asking', 'repository', 'device', 'webgpu'],
      'service',
    ],
  },
  cli: {
    holds: ['src/cli'],
    node: true,
    imports: [
      ...[
        'contract',
        'platform',
        'catalog',
        'repository',
        'upstream',
        'webgpu',
        'webllm',
        'llama cpp',
        'usage',
        'door',
      ],
      // What its page follows a load by is a stream of events, as those of the service are.
      'stream',
      ...['service', 'responses', 'adapters', 'bench', 'messages', 'ollama', 'structured', 'decode'],
    ],
  },
}

interface Room {
  /** Folders and files. */
  readonly holds: readonly string[]
  readonly imports?: readonly string[]
  /** In place of rooms: the only files of ours that it may import. */
  readonly only?: readonly string[]
  /** It may import `node:*`: it runs in no browser. */
  readonly node?: boolean
}
type Rooms = typeof ROOMS

const under = (path: string, place: string) => path === place || path.startsWith(`${place}/`)

function roomOf(path: string, rooms: Rooms): string | undefined {
  let found: string | undefined
  let length = 0
  for (const [name, { holds }] of Object.entries(rooms)) {
    for (const place of holds) if (under(path, place) && place.length > length) [found, length] = [name, place.length]
  }
  return found
}

/** What a source names: imports, exports of other files, types and imports at run time. */
function importsOf(path: string, text: string): { name: string; isType: boolean }[] {
  const found: { name: string; isType: boolean }[] = []
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      found.push({ name: (node.moduleSpecifier as ts.StringLiteral).text, isType: false })
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      found.push({ name: (node.argument.literal as ts.StringLiteral).text, isType: true })
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [name] = node.arguments
      if (name && ts.isStringLiteralLike(name)) found.push({ name: name.text, isType: false })
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))
  return found
}

/** A sentence for each import that the table does not allow. */
function breaksOf(path: string, text: string, rooms: Rooms): string[] {
  const name = roomOf(path, rooms)
  if (name === undefined) return [`${path} is in no room of test/architecture.test.ts.`]
  const room = rooms[name]!
  const breaks = importsOf(path, text).flatMap((imported) => {
    if (imported.name.startsWith('node:')) {
      // The type of a module is no import of it.
      if (room.node || imported.isType) return []
      return [`${path} imports ${imported.name}: ${name} runs in browsers, take platform/builtin.ts.`]
    }
    if (!imported.name.startsWith('.')) return []
    const target = normalize(join(dirname(path), imported.name)).replace(/\.js$/, '.ts')
    const to = roomOf(target, rooms)
    if (to === name || to === undefined) return []
    if (room.only ? room.only.includes(target) : room.imports?.includes(to)) return []
    return [`${path} imports ${target}: ${name} may not import ${to}.`]
  })
  return [...new Set(breaks)]
}

/** A room that imports one of its own line or below it. */
function circlesOf(rooms: Rooms): string[] {
  const known = new Set<string>()
  return Object.entries(rooms).flatMap(([name, { imports = [] }]) => {
    const wrong = imports.filter((room) => !known.has(room))
    known.add(name)
    return wrong.map((room) => `${name} may import ${room}, which does not stand above it.`)
  })
}

/** Files that import each other, types included, by whatever way round. */
function circlesOfFiles(imported: ReadonlyMap<string, readonly string[]>): string[][] {
  const [order, lowest, stack]: [Map<string, number>, Map<string, number>, string[]] = [new Map(), new Map(), []]
  const found: string[][] = []
  const visit = (file: string): number => {
    order.set(file, order.size)
    lowest.set(file, order.get(file)!)
    stack.push(file)
    for (const next of imported.get(file) ?? []) {
      const reached = order.has(next) ? (stack.includes(next) ? order.get(next)! : Infinity) : visit(next)
      lowest.set(file, Math.min(lowest.get(file)!, reached))
    }
    if (lowest.get(file) === order.get(file)) {
      const circle = stack.splice(stack.indexOf(file))
      if (circle.length > 1) found.push(circle.sort())
    }
    return lowest.get(file)!
  }
  for (const file of imported.keys()) if (!order.has(file)) visit(file)
  return found
}

function sources(): string[] {
  return ['src', 'adapters'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      // Tests may look anywhere. AssemblyScript is a language of its own.
      .filter((path) => /\.ts$/.test(path) && !/\.test(-helper)?\.ts$|\/assembly(\/|\.ts$)/.test(path)),
  )
}

describe('the rooms of src', () => {
  const all = sources()

  it('import only what the table allows', () => {
    expect(all.flatMap((path) => breaksOf(path, readFileSync(join(ROOT, path), 'utf8'), ROOMS))).toEqual([])
  })

  it('stand in no circle', () => {
    expect(circlesOf(ROOMS)).toEqual([])
  })

  it('have files in no circle either', () => {
    const files = all.map((path) => {
      const names = importsOf(path, readFileSync(join(ROOT, path), 'utf8')).map(({ name }) => name)
      const own = names.filter((name) => name.startsWith('.'))
      return [path, own.map((name) => normalize(join(dirname(path), name)).replace(/\.js$/, '.ts'))] as const
    })
    expect(circlesOfFiles(new Map(files))).toEqual([])
  })

  it('are all there', () => {
    const lived = new Set(all.map((path) => roomOf(path, ROOMS)))
    expect(Object.keys(ROOMS).filter((name) => !lived.has(name))).toEqual([])
  })
})

describe('the test of the rooms', () => {
  it('finds a circle of files, and what leads into it is none', () => {
    const imported = { a: ['b'], b: ['c', 'd'], c: ['b'], d: [], e: ['a', 'e'] }
    expect(circlesOfFiles(new Map(Object.entries(imported)))).toEqual([['b', 'c']])
  })

  /** Some file of a room, and a new one beside it. */
  const all = sources()
  const some = new Map(all.map((path) => [roomOf(path, ROOMS), path]))
  const fileOf = (name: string) => some.get(name)!
  const importing = (from: string, to: string, form: (path: string) => string) => {
    const path = roomOf(`${dirname(from)}/wrong.ts`, ROOMS) === roomOf(from, ROOMS) ? `${dirname(from)}/wrong.ts` : from
    const up = '../'.repeat(path.split('/').length - 1)
    return breaksOf(path, form(`${up}${to.replace(/\.ts$/, '.js')}`), ROOMS)
  }
  const forms: [string, (path: string) => string][] = [
    ['an import', (path) => `import { x } from '${path}'`],
    ['an import of a type', (path) => `import type { X } from '${path}'`],
    ['a type where it is used', (path) => `let x: import('${path}').X`],
    ['an export', (path) => `export { x } from '${path}'`],
    ['an import at run time', (path) => `await import('${path}')`],
  ]

  it.each(forms)('sees a file on the wrong side by %s, whichever side it is', (_, form) => {
    const names = Object.keys(ROOMS)
    for (const from of names) {
      const { imports = [], only } = ROOMS[from]!
      for (const to of names) {
        const target = fileOf(to)
        const breaks = importing(fileOf(from), target, form)
        const allowed = from === to || (only ? only.includes(target) : imports.includes(to))
        if (breaks.length !== (allowed ? 0 : 1)) expect.fail(`${from} -> ${to}: ${JSON.stringify(breaks)}`)
      }
    }
  })

  it('sees node:* where browsers are', () => {
    const imported = `import { readFileSync } from 'node:fs'`
    expect(breaksOf('src/usage/wrong.ts', imported, ROOMS)).toHaveLength(1)
    expect(breaksOf('src/cli/right.ts', imported, ROOMS)).toEqual([])
    expect(breaksOf('src/usage/right.ts', `let fs: typeof import('node:fs')`, ROOMS)).toEqual([])
  })

  it('sees a folder without a room, and a circle', () => {
    expect(breaksOf('src/new/file.ts', '', ROOMS)).toHaveLength(1)
    expect(circlesOf({ ...ROOMS, contract: { holds: ['src/engine.ts'], imports: ['decode'] } })).toHaveLength(1)
  })
})
