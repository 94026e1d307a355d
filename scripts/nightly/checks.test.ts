import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { argsOf, CHECKS, LEFT_OUT } from './checks.js'

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  scripts: Readonly<Record<string, string>>
}

/** The scripts of a package that no night runs, and those of nights that it does not have. */
function astray(names: readonly string[]): string[] {
  const known = [...CHECKS.map(({ name }) => name), ...Object.keys(LEFT_OUT)]
  const forgotten = names.filter((name) => name.startsWith('check:') && !known.includes(name))
  return [...forgotten, ...known.filter((name) => !names.includes(name))]
}

describe('a night', () => {
  it('runs every check of the package, once, or says why not', () => {
    const names = CHECKS.map(({ name }) => name)
    expect(astray(Object.keys(scripts))).toEqual([])
    expect(names).toEqual([...new Set(names)])
    expect(names.filter((name) => name in LEFT_OUT)).toEqual([])
  })

  it('and a check that is forgotten or gone is found out', () => {
    const names = Object.keys(scripts).filter((name) => name !== 'check:masks')
    expect(astray([...names, 'check:new'])).toEqual(['check:new', 'check:masks'])
  })

  const named = (name: string) => CHECKS.find((check) => check.name === name)!

  it('tells a check the paths that it needs, and leaves it out without them', () => {
    const grammars = named('check:grammars')
    expect(argsOf(grammars, { grammars: 'g', python: 'p', peers: 'q' })).toEqual(['g', '--python', 'p'])
    expect(argsOf(grammars, { grammars: 'g' })).toEqual({ lacks: '--grammars PATH --python PATH' })
  })

  it('tells a check the paths that it may have, and runs it without them too', () => {
    const [readers, tokenizers] = [named('check:readers'), named('check:tokenizers')]
    expect(argsOf(readers, {})).toEqual([])
    expect(argsOf(readers, { peers: 'q' })).toEqual(['--peers', 'q'])
    expect(argsOf(tokenizers, { peers: 'q' })).toEqual(['--peers', 'q'])
    expect(argsOf(tokenizers, { peers: 'q', python: 'p' })).toEqual(['--peers', 'q', '--python', 'p'])
    expect(argsOf(tokenizers, { python: 'p' })).toEqual({ lacks: '--peers PATH' })
  })
})
