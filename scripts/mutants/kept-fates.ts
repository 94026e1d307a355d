/** What became of mutants, a line each, written as it comes: a run that was cut goes on where it was, and parts add up. */
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { KILLED } from './judge.js'
import type { Fate } from './trials.js'

interface Line {
  /** Of the file that is changed, and of the tests with all else that they use: which these were. */
  readonly source: string
  readonly tests: string
  readonly mutant: string
  readonly fate: Fate
}

export class KeptFates {
  readonly #path: string | undefined
  readonly #lines = new Map<string, Line>()

  /** Without a path nothing is kept. */
  constructor(path: string | undefined) {
    this.#path = path
    if (path === undefined || !existsSync(path)) return
    for (const text of readFileSync(path, 'utf8').split('\n')) {
      // One may have been cut as it was written.
      if (!text.endsWith('}')) continue
      const line = JSON.parse(text) as Line
      this.#lines.set(`${line.source} ${line.mutant}`, line)
    }
  }

  /** Of one file with its tests: what is known of a mutant, and where to note it. */
  of(source: string, tests: readonly string[]) {
    const hashes = { source: hashOf([source]), tests: hashOf(tests) }
    return {
      /** Who was found out once stays so; a survivor is tried anew by other tests. */
      get: (mutant: string): Fate | undefined => {
        const line = this.#lines.get(`${hashes.source} ${mutant}`)
        return line && (KILLED.has(line.fate) || line.tests === hashes.tests) ? line.fate : undefined
      },
      add: (mutant: string, fate: Fate): void => {
        const line = { ...hashes, mutant, fate }
        this.#lines.set(`${hashes.source} ${mutant}`, line)
        if (this.#path !== undefined) appendFileSync(this.#path, `\n${JSON.stringify(line)}`)
      },
    }
  }
}

function hashOf(texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('base64url').slice(0, 16)
}
