import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** What lies beside the checkout, where it lies at all: whoever looks elsewhere finds nothing, and skips its tests. */
const PATH = /['"`]((?:\.\.\/)+)shared\/(?:openai|schemas)\//g

/** Paths to `shared` that do not lead out of the checkout, or lead further. */
function astray(file: string, text: string): string[] {
  const out = '../'.repeat(file.split('/').length)
  return [...text.matchAll(PATH)].filter(([, ups]) => ups !== out).map(([path]) => `${file}: ${path}`)
}

it('paths to what lies beside the checkout lead there', () => {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', '*.ts', '*.js'], { cwd: ROOT })
  const files = listed
    .toString()
    .split('\n')
    .filter((file) => file !== '')
  const texts = files.map((file) => [file, readFileSync(ROOT + file, 'utf8')] as const)
  expect(texts.filter(([, text]) => new RegExp(PATH).test(text)).length).toBeGreaterThan(5)
  expect(texts.flatMap(([file, text]) => astray(file, text))).toEqual([])
})

it('one that leads elsewhere is found', () => {
  const path = (ups: string) => `new URL('${ups}shared/openai/wire.schema.json', import.meta.url)`
  expect(astray('src/service/a.ts', path('../../../'))).toEqual([])
  expect(astray('src/service/a.ts', path('../../'))).toHaveLength(1)
  expect(astray('src/a.ts', path('../../../'))).toHaveLength(1)
})
