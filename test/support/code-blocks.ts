import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { transform } from 'esbuild'

/** A block of code in a page, with what its first line says after the language. */
export interface CodeBlock {
  readonly line: number
  readonly language: string
  /** `node`, `check`, `step server.js`, ... */
  readonly words: readonly string[]
  readonly code: string
}

export function codeBlocks(page: string): CodeBlock[] {
  return [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map((match) => {
    const [language = '', ...words] = match[1]!.trim().split(/\s+/)
    return { line: page.slice(0, match.index).split('\n').length, language, words, code: match[2]! }
  })
}

/** The pages of a folder, by their paths from `root`. */
export function pagesIn(root: string, folder: string): string[] {
  const names = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'))
  return names.map((name) => `${folder}/${name}`).sort()
}

/** The TypeScript of a file as Node runs it, beside it: a process that translates for itself takes twice as long. */
export async function runnable(file: string, code: string): Promise<string> {
  const path = `${file}.mjs`
  await writeFile(path, (await transform(code, { loader: 'ts' })).code)
  return path
}
