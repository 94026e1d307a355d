import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** The folder of an endpoint. */
const endpoint = (name: string) => `src/service/endpoints/${name}`
/** Those of all others. */
const endpointsBut = (...names: readonly string[]) =>
  readdirSync(join(ROOT, 'src/service/endpoints'))
    .filter((name) => !names.includes(name))
    .map(endpoint)

/**
 * The rooms of `src`, from the ground up, and who may import whom, types included: a room imports only what stands above
 * its own line, so there are no circles, and by its door alone: `index.ts`. A path belongs to the room that names the
 * longest part of it.
 */
const ROOMS: Readonly<Record<string, Room>> = {
  // What everybody may know: the contract with engines and models, the one error class.
  contract: { holds: ['src/contract'] },
  // What runtimes do differently, and small tools for all.
  platform: { holds: ['src/platform'] },

  // From JSON Schema, grammars and regular expressions to token masks.
  grammar: {
    holds: ['src/grammar'],
    imports: ['contract', 'platform'],
    inside: [
      [['fuel', 'grammar-error', 'kept', 'schema-error'].map((name) => `src/grammar/${name}.ts`).join('+')],
      // Languages of strings, and what comes to one.
      ['src/grammar/automata'],
      ['src/grammar/numbers', 'src/grammar/regex'],
      ['src/grammar/formats', 'src/grammar/pattern'],
      // What an automaton reads: sets of JSON values, and how they are written. It knows no schema, and no schema knows it.
      ['src/grammar/values'],
      ['src/grammar/automaton+src/grammar/walk.ts', 'src/grammar/schema+src/grammar/keywords'],
      ['src/grammar/tokens', 'src/grammar/rules'],
      ['src/grammar'],
      // What requests demand of answers: schemas and tools, compiled, and the judge of what was written.
      ['src/grammar/constraints'],
    ],
  },

  // The decode loop, all that is text about a model, and from texts to vectors and scores.
  generate: {
    holds: ['src/generate'],
    imports: ['contract', 'platform', 'grammar'],
    inside: [
      // Where the values of a document stand; a question in words, which models elsewhere are asked in too.
      ['src/generate/sources', 'src/generate/decide/questions.ts'],
      ['src/generate'],
      ['src/generate/encode'],
    ],
  },

  // What a device can compute; above it side by side the GPU, whose kernels operations are made of too, and its twin,
  // the CPU. It knows tensors, and neither requests nor schemas.
  device: {
    holds: ['src/device'],
    imports: ['contract', 'platform'],
    inside: [['src/device+src/device/gpu/kernels'], ['src/device/gpu', 'src/device/cpu']],
  },

  // Files of models, architectures and their layers, and how they run on a device.
  models: {
    holds: ['src/models'],
    imports: ['contract', 'platform', 'grammar', 'generate', 'device'],
    inside: [
      [
        'src/models/files',
        'src/models/model-plan.ts+src/models/angles.ts+src/models/refuse.ts',
        'src/models/catalog.ts',
      ],
      ['src/models/architectures'],
      ['src/models'],
      ['src/models/encoders'],
    ],
  },

  // Implementations of the contract.
  engines: {
    holds: ['src/engines'],
    imports: ['contract', 'platform', 'grammar', 'generate', 'device', 'models'],
    inside: [
      [
        ...['scripted.ts', 'prompt-api', 'remote', 'model-set.ts', 'drafts.ts'].map((name) => `src/engines/${name}`),
        'src/engines/upstream+src/engines/upstream.ts',
      ],
      ['src/engines/webgpu', 'src/engines/llama-cpp', 'src/engines/webllm'],
    ],
  },

  usage: { holds: ['src/usage'], imports: ['contract', 'platform'] },

  // A request in, a response out. It knows engines by their contract alone.
  service: {
    holds: ['src/service'],
    imports: ['contract', 'platform', 'grammar', 'usage'],
    inside: [
      // Who comes in, and when; streams.
      ['src/service/door', 'src/service/stream'],
      // What requests and replies of several endpoints have in common.
      ['src/service/wire'],
      // What later requests refer to.
      ['src/service/endpoints/responses/store+src/service/endpoints/responses/wire'],
      // From a request that was read to its response: the same for all endpoints.
      ['src/service/answer'],
      // An endpoint knows no other, but for those that are made of others.
      endpointsBut('classify', 'conversations', 'ollama', 'pooling', 'score'),
      ['classify', 'conversations', 'ollama', 'score'].map(endpoint),
      [endpoint('pooling')],
      ['src/service'],
    ],
  },

  // What `local-v1` exports.
  package: { holds: ['src/index.ts'], imports: ['contract', 'usage', 'service'] },

  // What stands around it.
  // The error class by its own file: a bundle keeps all that the barrel names for whoever takes a value from it.
  adapters: {
    holds: ['adapters'],
    only: [
      ...['index', 'contract/errors', 'grammar/partial', 'platform/event-stream', 'platform/turns'].map(
        (name) => `src/${name}.ts`,
      ),
    ],
    node: true,
  },
  'service worker': { holds: ['adapters/service-worker'], only: ['src/index.ts', 'src/contract/errors.ts'] },
  'browser file': { holds: ['adapters/browser.ts'], imports: ['engines', 'package', 'service', 'service worker'] },
  bench: {
    holds: ['src/bench'],
    imports: ['contract', 'platform', 'grammar', 'generate', 'device', 'models', 'engines', 'service'],
  },
  cli: {
    holds: ['src/cli'],
    node: true,
    imports: [
      ...['contract', 'platform', 'grammar', 'generate', 'models', 'engines', 'usage', 'service', 'adapters', 'bench'],
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
  /**
   * Lines of parts, from the ground up: a part knows those of the lines before its own, and none of its own line. Places
   * of one part are joined by `+`.
   */
  readonly inside?: readonly (readonly string[])[]
}
type Rooms = typeof ROOMS

/** The one file that others may import of a room of `src`. */
const doorOf = (name: string, rooms: Rooms) => `${rooms[name]!.holds[0]}/index.ts`

const under = (path: string, place: string) => path === place || path.startsWith(`${place}/`)

function roomOf(path: string, rooms: Rooms): string | undefined {
  let found: string | undefined
  let length = 0
  for (const [name, { holds }] of Object.entries(rooms)) {
    for (const place of holds) if (under(path, place) && place.length > length) [found, length] = [name, place.length]
  }
  return found
}

/** Which part of its room a path belongs to: that which names the longest part of it. */
function partOf(path: string, { inside = [] }: Room): { line: number; part: string } | undefined {
  let found: { line: number; part: string } | undefined
  let length = 0
  for (const [line, parts] of inside.entries()) {
    for (const part of parts) {
      for (const place of part.split('+')) {
        if (under(path, place) && place.length > length) [found, length] = [{ line, part }, place.length]
      }
    }
  }
  return found
}

/** What a source names: imports, exports of other files, types and imports at run time. */
function importsOf(path: string, text: string): { name: string; isType: boolean; late?: true }[] {
  const found: { name: string; isType: boolean; late?: true }[] = []
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      found.push({ name: (node.moduleSpecifier as ts.StringLiteral).text, isType: false })
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      found.push({ name: (node.argument.literal as ts.StringLiteral).text, isType: true })
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [name] = node.arguments
      if (name && ts.isStringLiteralLike(name)) found.push({ name: name.text, isType: false, late: true })
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
    // A bundler puts it into a file of its own, which it loads by `document` or `importScripts`: module workers have neither.
    if (imported.late && !room.node) return [`${path} imports ${imported.name} at run time: workers of pages may not.`]
    const target = normalize(join(dirname(path), imported.name)).replace(/\.js$/, '.ts')
    const to = roomOf(target, rooms)
    if (to === undefined) return []
    const isDoor = (path: string) => path === doorOf(to, rooms)
    if (to === name) {
      // The door shows what is in any part, to others.
      if (isDoor(path)) return []
      if (isDoor(target)) return [`${path} imports ${target}, the door of its own room.`]
      const [from, other] = [partOf(path, room), partOf(target, room)]
      if (from === undefined || other === undefined || from.part === other.part || other.line < from.line) return []
      return [`${path} imports ${target}: ${from.part} may not import ${other.part}.`]
    }
    if (room.only) return room.only.includes(target) ? [] : [`${path} imports ${target}: ${name} may not import ${to}.`]
    if (!room.imports?.includes(to)) return [`${path} imports ${target}: ${name} may not import ${to}.`]
    const byDoor = imported.isType || !under(path, 'src') || path === 'src/index.ts'
    return byDoor || isDoor(target) || !under(target, 'src')
      ? []
      : [`${path} imports ${target}, past the door of ${to}.`]
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

/** The circles of files with these texts. */
function circlesOfTexts(texts: ReadonlyMap<string, string>): string[][] {
  const imported = [...texts].map(([path, text]) => {
    // Whatever an import is of: TypeScript's own scan for names takes a quarter of the time of a tree.
    const names = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName)
    const own = names.flatMap((name) => (name.startsWith('.') ? [join(dirname(path), name)] : []))
    const at = own.map((name) => normalize(name).replaceAll('\\', '/').replace(/\.js$/, ''))
    return [path, at.flatMap((name) => [`${name}.ts`, `${name}.tsx`].filter((file) => texts.has(file)))] as const
  })
  return circlesOfFiles(new Map(imported))
}

/** TypeScript below these folders. AssemblyScript is a language of its own. */
function filesOf(folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.tsx?$/.test(path) && !/\/(node_modules|assembly)\/|\/assembly\.ts$/.test(path)),
  )
}

/** What has a place in the table. Tests may look anywhere. */
function sources(): string[] {
  return filesOf(['src', 'adapters']).filter((path) => /\.ts$/.test(path) && !/\.test(-helper)?\.ts$/.test(path))
}

describe('the rooms of src', () => {
  const all = sources()

  it('import only what the table allows', () => {
    expect(all.flatMap((path) => breaksOf(path, readFileSync(join(ROOT, path), 'utf8'), ROOMS))).toEqual([])
  })

  it('stand in no circle', () => {
    expect(circlesOf(ROOMS)).toEqual([])
  })

  it('have files in no circle either, as have all folders around them', () => {
    const files = filesOf(['src', 'adapters', 'apps', 'bench', 'examples', 'scripts', 'test'])
    expect(circlesOfTexts(new Map(files.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')])))).toEqual([])
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

  it('finds a circle of texts, of types and of pages too', () => {
    const texts = {
      'bench/a/index.ts': `const late = () => import('../b.js')`,
      'bench/b.ts': `import type { A } from './a/index.js'`,
      'apps/c.ts': `import { D } from './d.js'`,
      'apps/d.tsx': `export type { C } from './c.js'`,
      'test/e.ts': `import { C } from '../apps/c.js'`,
    }
    expect(circlesOfTexts(new Map(Object.entries(texts)))).toEqual([
      ['bench/a/index.ts', 'bench/b.ts'],
      ['apps/c.ts', 'apps/d.tsx'],
    ])
  })

  /** Some file of a room, and a new one beside it. */
  const all = sources()
  const some = new Map(all.map((path) => [roomOf(path, ROOMS), path]))
  const fileOf = (name: string) => some.get(name)!
  const doors = new Set(all)
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
  ]

  it.each(forms)('sees a file on the wrong side by %s, whichever side it is', (_, form) => {
    const names = Object.keys(ROOMS)
    for (const from of names) {
      const { imports = [], only } = ROOMS[from]!
      for (const to of names) {
        const [target, own] = [doors.has(doorOf(to, ROOMS)) ? doorOf(to, ROOMS) : fileOf(to), fileOf(from)]
        if (from === to) continue
        const breaks = importing(own, target, form)
        const allowed = only ? only.includes(target) : imports.includes(to)
        if (breaks.length !== (allowed ? 0 : 1)) expect.fail(`${from} -> ${to}: ${JSON.stringify(breaks)}`)
      }
    }
  })

  it('sees who passes a door, or goes out to come in by it', () => {
    const breaks = (path: string, text: string) => breaksOf(path, text, ROOMS).length
    expect(breaks('src/usage/wrong.ts', `import { x } from '../platform/bytes.js'`)).toBe(1)
    expect(breaks('src/usage/wrong.ts', `export { x } from '../platform/bytes.js'`)).toBe(1)
    expect(breaks('src/usage/right.ts', `import { x } from '../platform/index.js'`)).toBe(0)
    expect(breaks('src/platform/wrong.ts', `import { x } from './index.js'`)).toBe(1)
  })

  it('sees what is imported at run time where workers of pages are', () => {
    const imported = `await import('../platform/index.js')`
    expect(breaksOf('src/usage/wrong.ts', imported, ROOMS)).toHaveLength(1)
    expect(breaksOf('src/cli/right.ts', imported, ROOMS)).toEqual([])
  })

  it('sees node:* where browsers are', () => {
    const imported = `import { readFileSync } from 'node:fs'`
    expect(breaksOf('src/usage/wrong.ts', imported, ROOMS)).toHaveLength(1)
    expect(breaksOf('src/cli/right.ts', imported, ROOMS)).toEqual([])
    expect(breaksOf('src/usage/right.ts', `let fs: typeof import('node:fs')`, ROOMS)).toEqual([])
  })

  it('sees a part of a room that looks up or beside itself', () => {
    const breaks = (path: string, to: string) => breaksOf(path, `import { x } from '${to}'`, ROOMS).length
    expect(breaks('src/grammar/automata/wrong.ts', '../schema/x.js')).toBe(1)
    expect(breaks('src/grammar/schema/right.ts', '../automata/x.js')).toBe(0)
    expect(breaks('src/device/cpu/wrong.ts', '../gpu/x.js')).toBe(1)
    expect(breaks('src/device/cpu/right.ts', '../gpu/kernels/x.js')).toBe(0)
  })

  it('sees a folder without a room, and a circle', () => {
    expect(breaksOf('src/new/file.ts', '', ROOMS)).toHaveLength(1)
    expect(circlesOf({ ...ROOMS, contract: { holds: ['src/contract/engine.ts'], imports: ['decode'] } })).toHaveLength(
      1,
    )
  })
})
