/**
 * How the pages of the documentation install local-v1, in one place: `docs/packages.json`. `npm run docs:install` writes
 * its words into every page; `test/install-lines.test.ts` holds them to it. Once the packages are on npm that file says
 * their names, `npx local-v1` and an empty note.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeBlocks, pagesIn } from '../test/support/code-blocks.js'

const root = fileURLToPath(new URL('../', import.meta.url))

export interface Packages {
  readonly 'local-v1': string
  readonly 'local-v1-nano': string
  /** The command line, where it is installed and nowhere else. */
  readonly npx: string
  /** Said once on each page that installs; empty: nothing. */
  readonly note: string
}

export const packages = (): Packages => JSON.parse(readFileSync(join(root, 'docs/packages.json'), 'utf8')) as Packages

export const pages = (): string[] =>
  ['docs', 'docs/start', 'docs/guides', 'docs/recipes'].flatMap((folder) => pagesIn(root, folder))

const INSTALL = /^(npm install|bun add)( .*)$/gm
const OURS = /(?<= )(?:\S*\/)?local-v1(-nano)?(?:\.tgz)?(?= |$)/g
const NOTE = /^<!-- packages -->\n.*\n\n/m

/** The text of the page at `path` with the words of `packages`, whose links are those of a page in a folder. */
export function withPackages(path: string, text: string, packages: Packages): string {
  const installed = text
    .replace(INSTALL, (_, command: string, names: string) => {
      return command + names.replace(OURS, (_, nano?: string) => packages[nano ? 'local-v1-nano' : 'local-v1'])
    })
    .replace(/npx (?:--no )?local-v1(?![\w-])/g, packages.npx)
    .replace(NOTE, '')
  const first = codeBlocks(installed).find(({ code }) => installs(code))
  if (!first || packages.note === '') return installed
  const lines = installed.split('\n')
  lines.splice(first.line - 1, 0, '<!-- packages -->', noteFor(path, packages), '')
  return lines.join('\n')
}

/** What a page says of packages that are not there yet. */
export const noteFor = (path: string, { note }: Packages): string =>
  note.replace('(../index.md)', `(${posix.relative(posix.dirname(path), 'docs/index.md')})`)

export const installs = (code: string): boolean =>
  [...code.matchAll(INSTALL)].some(([line]) => new RegExp(OURS.source).test(line))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const page of pages()) {
    const text = readFileSync(join(root, page), 'utf8')
    const written = withPackages(page, text, packages())
    if (written !== text) writeFileSync(join(root, page), written)
  }
}
