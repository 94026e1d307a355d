import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { getOrMake } from '../src/platform/index.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Names that two entries of the package give to their users, each for its own kind of application. */
const PUBLIC = [
  // A message as engines are given it, and as the chat of a page keeps it.
  'ChatMessage',
  // The provider for the AI SDK, and the plugin for Vite.
  'localV1',
  // The same engine in the thread of the caller, and in a worker.
  'webllm',
]

/** Types that no other file sees and that mean what the contract or the glossary means by their names. */
const SAME = [
  // Adapters know the package's own types alone, and this one it does not export.
  ['DurationUnit', 'adapters/client/extraction-model.ts'],
  // What a device is told of it, what is planned, and what is kept of it: each is that which the glossary names.
  ['Rope', 'src/device/operations/attend/kernel.ts'],
  ['Plan', 'src/engines/webgpu/alternatives.ts'],
  ['State', 'src/models/states.ts'],
]

/** The trees of texts: each is asked for by several tests. */
const trees = new Map<string, ts.SourceFile>()
const treeOf = (path: string, text: string) =>
  getOrMake(trees, text, () => ts.createSourceFile(path, text, ts.ScriptTarget.Latest))

/** What a source exports and declares itself: interfaces, type aliases, classes, functions and constants. */
function declaredIn(path: string, text: string): string[] {
  return treeOf(path, text).statements.flatMap((node) => {
    if (!ts.canHaveModifiers(node)) return []
    if (!ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(node)) {
      return node.declarationList.declarations.flatMap(({ name }) => boundBy(name))
    }
    const named = [...TYPES, ts.isFunctionDeclaration]
    return named.flatMap((is) => (is(node) && node.name ? [node.name.text] : []))
  })
}

const TYPES = [ts.isInterfaceDeclaration, ts.isTypeAliasDeclaration, ts.isClassDeclaration]

/** The names of a constant, or of all that is taken out of one. */
function boundBy(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text]
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? boundBy(element.name) : []))
}

/** Types that a source keeps to itself, wherever in it they are declared. */
function keptIn(path: string, text: string): string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    for (const is of TYPES) if (is(node) && node.name) found.push(node.name.text)
    ts.forEachChild(node, visit)
  }
  visit(treeOf(path, text))
  const shown = declaredIn(path, text)
  return found.filter((name) => !shown.includes(name))
}

/** What the glossary explains, as a type would be called (`attention mask`: `AttentionMask`), and types that it names. */
function termsOf(page: string): string[] {
  return page
    .slice(page.indexOf('\n## Terms\n'))
    .split('\n')
    .filter((line) => /^\| (?!Term )[a-z]/.test(line))
    .flatMap((line) => {
      const term = line.split('|')[1]!.trim()
      const types = [...line.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name!)
      return [term.replace(/(?:^|[ -])([a-z])/g, (_, letter: string) => letter.toUpperCase()), ...types]
    })
}

/** Types of single files by names that mean something everywhere, and where. */
function borrowed(files: ReadonlyMap<string, string>, glossary: string): string[][] {
  const inContract = [...files].filter(([path]) => path.startsWith('src/contract/'))
  const known = new Set([...termsOf(glossary), ...inContract.flatMap(([path, text]) => declaredIn(path, text))])
  return [...files].flatMap(([path, text]) =>
    keptIn(path, text)
      .filter((name) => known.has(name))
      .map((name) => [name, path]),
  )
}

/** The names that more than one file declares, and where. */
function doubles(files: ReadonlyMap<string, string>): Record<string, string[]> {
  const places = new Map<string, string[]>()
  for (const [path, text] of files) {
    for (const name of new Set(declaredIn(path, text))) places.set(name, [...(places.get(name) ?? []), path])
  }
  return Object.fromEntries([...places].filter(([, paths]) => paths.length > 1))
}

function sources(): Map<string, string> {
  const paths = ['src', 'adapters'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
      .filter((path) => /\.tsx?$/.test(path) && !/\.test(-helper)?\.tsx?$|\/assembly(\/|\.ts$)/.test(path)),
  )
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
}

describe('a noun means one thing', () => {
  it('in all of src and adapters, but for what entries have in common', () => {
    const found = doubles(sources())
    expect(Object.entries(found).filter(([name]) => !PUBLIC.includes(name))).toEqual([])
    expect(PUBLIC.filter((name) => !Object.hasOwn(found, name))).toEqual([])
  })

  it('and a second meaning is seen, in whatever form', () => {
    const first = ['a.ts', 'export interface Place {}'] as const
    const forms = [
      'interface Place {}',
      'type Place = string',
      'class Place {}',
      'function Place() {}',
      'const Place = 1',
      'const { Place } = x',
      'const { a: Place } = x',
      'const { a: [, Place], ...others } = x',
    ]
    for (const second of forms.map((form) => `export ${form}`)) {
      expect(doubles(new Map([first, ['b.ts', second]]))).toEqual({ Place: ['a.ts', 'b.ts'] })
    }
    expect(doubles(new Map([first, ['b.ts', "export type { Place } from './a.js'\ninterface Place {}"]]))).toEqual({})
  })

  it('in single files too, if the contract or the glossary has it', () => {
    const found = borrowed(sources(), readFileSync(join(ROOT, 'docs/how-it-works.md'), 'utf8'))
    expect(found.filter(([name, path]) => !SAME.some((same) => same[0] === name && same[1] === path))).toEqual([])
    expect(SAME.filter(([name, path]) => !found.some((own) => own[0] === name && own[1] === path))).toEqual([])
  })

  it('and a single file that means something else by it is seen', () => {
    const glossary =
      '# Page\n\n## Terms\n\n| Term | What |\n|---|---|\n| add-norm | a thing |\n| reply | one (`Said`) |\n'
    const contract = ['src/contract/engine.ts', 'export interface Part {}\ninterface Inner {}'] as const
    const own =
      'interface Part {}\nfunction f() {\n  type AddNorm = 1\n}\nclass Reply {}\ntype Said = 1\ntype Inner = 1\ntype Term = 1'
    expect(borrowed(new Map([contract, ['src/a.ts', own]]), glossary)).toEqual(
      ['Part', 'AddNorm', 'Reply', 'Said'].map((name) => [name, 'src/a.ts']),
    )
    expect(borrowed(new Map([contract, ['src/b.ts', 'export interface Part {}']]), glossary)).toEqual([])
  })
})
