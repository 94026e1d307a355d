/** Which files are judged, and by which tests. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export interface Watched {
  readonly tests: readonly string[]
}

/** The test of the same name; where there is none, those of the same folder. */
export function testsOf(root: string, file: string): string[] {
  const own = file.replace(/\.ts$/, '.test.ts')
  if (existsSync(join(root, own))) return [own]
  const folder = dirname(file)
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `${folder}/${name}`)
}

const run = promisify(execFile)

/** What stands here and not where the branch left main, committed or not. */
export async function changedFiles(root: string): Promise<string[]> {
  const git = async (...args: string[]) => (await run('git', args, { cwd: root })).stdout.split('\n').filter(Boolean)
  const mains = await git('for-each-ref', '--format=%(refname:short)', 'refs/remotes/origin/main', 'refs/heads/main')
  if (mains.length === 0) throw new Error('There is no main to compare with: name the files.')
  // Whichever is nearer: a clone's own main may be old, and a fork has only that.
  const bases = await Promise.all(mains.map(async (main) => (await git('merge-base', 'HEAD', main))[0]!))
  const counted = await Promise.all(
    bases.map(async (base) => Number((await git('rev-list', '--count', `${base}..`))[0])),
  )
  const base = bases[counted.indexOf(Math.min(...counted))]!
  const changed = await git('diff', '--name-only', '--diff-filter=d', base)
  return changed.filter(isJudged)
}

/** Code of ours that tests run: kernels are another language, and helpers of tests are tests. */
export function isJudged(file: string): boolean {
  return /^(src|adapters)\/.*\.ts$/.test(file) && !/\.(test|test-helper|generated|d)\.ts$|\/assembly\//.test(file)
}
