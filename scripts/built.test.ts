import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hashOfSources, isBuilt } from './built.js'

const STAMP = 'node_modules/.cache/local-v1/built'
const FILES = ['src/a/b.ts', 'adapters/c.ts', 'apps/d.html', 'models/nano/e.bin']
const SCRIPTS = ['scripts/build-kernels.ts', 'scripts/declarations.ts', 'scripts/through-doors.ts']
const CONFIGS = [...SCRIPTS, 'tsup.config.ts', 'tsconfig.json', 'package.json', 'package-lock.json']

let root: string
const put = async (path: string, text: string) => {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), text)
}

beforeEach(async () => {
  root = `${await mkdtemp(join(tmpdir(), 'local-v1-built-'))}/`
  for (const path of [...FILES, ...CONFIGS]) await put(path, 'as it was')
  await put('dist/playground/index.html', '')
  await put(STAMP, hashOfSources(root))
})
afterEach(() => rm(root, { recursive: true }))

it('what was built from the same sources is built', () => {
  expect(isBuilt(root)).toBe(true)
})

it.each([...FILES, ...CONFIGS, 'src/new.ts'])('what was built before %s changed is not', async (path) => {
  await put(path, 'as it is now')
  expect(isBuilt(root)).toBe(false)
})

it.each(['src/a/b.test.ts', 'apps/d/dist/e.js'])('%s is no source', async (path) => {
  await put(path, 'new')
  expect(isBuilt(root)).toBe(true)
})

it('nothing is built where dist is gone, or nobody said of what it was made', async () => {
  await rm(join(root, 'dist'), { recursive: true })
  expect(isBuilt(root)).toBe(false)
  await put('dist/playground/index.html', '')
  await rm(join(root, STAMP))
  expect(isBuilt(root)).toBe(false)
})
