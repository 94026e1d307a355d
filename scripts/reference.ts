/**
 * The options and types of every entry point as pages of the documentation, from the JSDoc of the built package:
 * `npx tsx scripts/reference.ts` writes them to docs/reference. A hundred lines over TypeScript's own API, since TypeDoc
 * tells of files and classes as they lie, and what a reader wants is a table of options for each function.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What is exported under one name, and what is said of it. */
export interface Told {
  readonly name: string
  readonly kind: 'function' | 'type' | 'class' | 'value'
  readonly words: string
  readonly text: string
  readonly members: readonly Member[]
}

export interface Member {
  readonly name: string
  readonly type: string
  readonly words: string
  readonly usual: string | undefined
}

/** Of each entry point its exports: functions first. */
export function exportsOf(entries: readonly (readonly [name: string, path: string])[]): Map<string, readonly Told[]> {
  const program = ts.createProgram({
    rootNames: entries.map(([, path]) => path),
    options: {
      target: ts.ScriptTarget.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
      types: [],
      skipLibCheck: true,
    },
  })
  const checker = program.getTypeChecker()
  const printer = ts.createPrinter({ removeComments: true })
  const one = (symbol: ts.Symbol): Told | undefined => {
    const real = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const [declaration] = real.declarations ?? []
    if (!declaration) return undefined
    const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration
    const printed = printer.printNode(ts.EmitHint.Unspecified, node, declaration.getSourceFile())
    const kind = ts.isFunctionDeclaration(declaration)
      ? 'function'
      : ts.isClassDeclaration(declaration)
        ? 'class'
        : ts.isVariableDeclaration(declaration)
          ? 'value'
          : 'type'
    const isListed = ts.isInterfaceDeclaration(declaration) || ts.isClassDeclaration(declaration)
    const members = isListed ? declaration.members.flatMap((member) => memberOf(member)) : []
    return {
      name: symbol.name,
      kind,
      words: wordsOf(real, checker),
      // An interface is told by its members.
      text: members.length > 0 ? '' : printed.replace(/^(export |declare )*/gm, ''),
      members,
    }
  }
  const memberOf = (member: ts.TypeElement | ts.ClassElement): Member[] => {
    const symbol = member.name && checker.getSymbolAtLocation(member.name)
    const hidden = ts.canHaveModifiers(member) && ts.getModifiers(member)?.some(isPrivate)
    if (!symbol || hidden || member.name?.getText().startsWith('#')) return []
    const type = ts.isPropertySignature(member) || ts.isPropertyDeclaration(member) ? member.type : undefined
    const written = (type ?? member).getText().replace(/\/\*\*[\s\S]*?\*\//g, '')
    const [usual] = symbol.getJsDocTags(checker).filter(({ name }) => name === 'default')
    return [
      {
        name: symbol.name + (ts.isPropertySignature(member) && member.questionToken ? '?' : ''),
        type: written.replace(/\s+/g, ' ').replace(/;$/, ''),
        words: wordsOf(symbol, checker),
        usual: usual && ts.displayPartsToString(usual.text),
      },
    ]
  }
  return new Map(
    entries.map(([name, path]) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!
      const all = checker.getExportsOfModule(module).flatMap((symbol) => one(symbol) ?? [])
      const order = ['function', 'class', 'value', 'type']
      const place = (each: Told) => order.indexOf(each.kind)
      return [name, all.sort((a, b) => place(a) - place(b) || (a.name < b.name ? -1 : 1))] as const
    }),
  )
}

const isPrivate = ({ kind }: ts.ModifierLike) => kind === ts.SyntaxKind.PrivateKeyword

const wordsOf = (symbol: ts.Symbol, checker: ts.TypeChecker) =>
  ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim()

/** As Vue reads Markdown: what looks like a tag is none, and no brace opens an expression. */
const cell = (text: string) =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{{', '{<span>{</span>').replace(/\s+/g, ' ')

const code = (text: string) =>
  `<code v-pre>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '&#124;')}</code>`

function pageOf(entry: string, all: readonly Told[], order: number): string {
  const from = `local-v1${entry.slice(1)}`
  const sections = all.map(({ name, words, text, members }) => {
    const rows = members.map(
      ({ name, type, words, usual }) =>
        `| \`${name}\` | ${code(type)} | ${cell(words)}${usual === undefined ? '' : ` Default: ${cell(usual)}.`} |`,
    )
    const table = rows.length > 0 ? ['| Name | Type | What it is |', '|---|---|---|', ...rows].join('\n') : ''
    const signature = text === '' ? '' : `\`\`\`ts\n${text.trim()}\n\`\`\``
    return [`## ${name}`, words, signature, table].filter((part) => part !== '').join('\n\n')
  })
  return [`---\norder: ${order}\n---\n# ${from}`, `\`import { … } from '${from}'\``, ...sections].join('\n\n')
}

/** The pages by their names. */
export async function referencePages(): Promise<Map<string, string>> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { types: string } | string>
  }
  const entries = Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === 'string' ? [] : [[name, join(root, target.types)] as const],
  )
  // The file for plain pages has what others have.
  const own = entries.filter(([name]) => name !== './browser')
  const pages = [...exportsOf(own)].map(([name, all], i) => {
    const file = name === '.' ? 'local-v1' : name.slice(2).replaceAll('/', '-')
    return [`${file}.md`, pageOf(name, all, i)] as const
  })
  return new Map(pages)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = join(root, 'docs/reference')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const [name, page] of await referencePages()) await writeFile(join(folder, name), `${page}\n`)
}
