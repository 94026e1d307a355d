import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { RunnerTask as Task } from 'vitest'
import { afterAll, beforeEach } from 'vitest'
import { FULL } from './full.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** What the package is made of, what it depends on, and what it is compared with. */
const INPUTS = [
  ...['dist', 'package.json', 'package-lock.json', 'README.md', 'LICENSE', 'CHANGELOG.md'],
  ...['test/__snapshots__', 'scripts/public-types.ts'],
]

function digest(paths: readonly string[]): string {
  const hash = createHash('sha256').update(process.version)
  const add = (path: string): void => {
    const full = join(root, path)
    const found = statSync(full, { throwIfNoEntry: false })
    if (found?.isDirectory()) for (const name of readdirSync(full).sort()) add(join(path, name))
    else hash.update(`${path}\n`).update(found ? readFileSync(full) : '')
  }
  for (const path of paths) add(path)
  return hash.digest('hex')
}

/**
 * Whether the tests in `file` have passed on this machine with the package as it is now. Then they may be skipped; with
 * LOCAL_V1_FULL they are not. Call it once, in the file itself.
 */
export function passedAsItIs(file: string): boolean {
  const stamp = join(root, 'node_modules/.cache/local-v1/packed', file)
  const now = digest([...INPUTS, file, 'test/support/packed.ts'])
  if (!FULL && statSync(stamp, { throwIfNoEntry: false }) && readFileSync(stamp, 'utf8') === now) {
    console.log(`${file} is skipped: what is packed has not changed since it passed here.`)
    return true
  }
  let all: Readonly<Task> | undefined
  beforeEach(({ task }) => {
    all = task.file
  })
  afterAll(() => {
    if (!all || !passed(all)) return
    mkdirSync(dirname(stamp), { recursive: true })
    writeFileSync(stamp, now)
  })
  return false
}

/** Whoever ran one test by its name has skipped the others. */
function passed(task: Readonly<Task>): boolean {
  return 'tasks' in task ? task.tasks.every(passed) : task.result?.state === 'pass'
}
