import { describe, expect, it } from 'vitest'
import { placeIn, slugOf } from '../../apps/playground/page/address.js'
import { codeTokens } from '../../apps/playground/page/code-tokens.js'
import { frameOf } from '../../apps/playground/page/embed.js'
import { examples } from '../../apps/playground/page/examples.js'
import { asShared, LinkFault, packed, unpacked } from '../../apps/playground/page/share.js'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'

/** The same numbers at every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** What happens to links on their way, and what does not. */
function mutated(link: string, kind: number, random: (below: number) => number): string {
  const at = random(link.length)
  const letter = LETTERS[random(LETTERS.length)]!
  const cut = 1 + random(link.length - 1)
  const ways = [
    () => link.slice(0, at) + letter + link.slice(at + 1),
    () => link.slice(0, at) + link.slice(at + 1),
    () => link.slice(0, at) + letter + link.slice(at),
    () => link.slice(0, cut),
    () => link.slice(0, at) + [...link.slice(at, at + 2)].reverse().join('') + link.slice(at + 2),
    () => link.toLowerCase(),
    () => link.slice(0, at) + link.slice(at + 20),
    () => link.slice(0, at) + link.slice(at, at + 20).toUpperCase() + link.slice(at + 20),
    () => `${link}${letter}`,
    () => link.slice(0, -1) + letter,
  ]
  return ways[kind % ways.length]!()
}

describe('code', () => {
  it('is coloured without a letter lost, whatever its language', () => {
    const python = `# pip install openai\nfrom openai import OpenAI\nx = {"a": [1.5, True], 'b': "it's \\"so\\""}  # end\n`
    const kinds = (code: string, name: string) =>
      codeTokens(code, name).flatMap(({ kind, text }) => (kind === 'plain' ? [] : [`${kind} ${text}`]))
    expect(kinds(python, 'Python')).toEqual([
      'comment # pip install openai',
      'word from',
      'word import',
      'string "a"',
      'number 1.5',
      'word True',
      "string 'b'",
      'string "it\'s \\"so\\""',
      'comment # end',
    ])
    expect(kinds("const a = 'b' // c", 'React')).toEqual(['word const', "string 'b'", 'comment // c'])
    expect(kinds("# a\ncurl http://a/#b -d '{\n}'", 'curl')).toEqual(['comment # a', 'word curl', "string '{\n}'"])
    for (const name of ['Python', 'React', 'curl']) {
      expect(
        codeTokens(python, name)
          .map(({ text }) => text)
          .join(''),
      ).toBe(python)
    }
  })
})

describe('links', () => {
  const [example] = examples
  const { instructions, text, schema } = example!
  const shared = {
    draft: { name: 'ticket', instructions, text, schema: JSON.stringify(schema) },
    settings: { model: 'local-v1/nano', temperature: '0' },
  }

  it('hold what was packed, in characters that no sender touches', async () => {
    const link = await packed(shared)
    expect(link).toMatch(/^[\w-]+\.[0-9a-f]{8}$/)
    expect(asShared(await unpacked(link))).toEqual(shared)
  })

  it('say that they are damaged: 100 of 100', async () => {
    const link = await packed(shared)
    const random = numbers(36)
    const read: string[] = []
    for (let tried = 0, kind = 0; tried < 100; kind++) {
      const other = mutated(link, kind, random)
      if (other === link) continue
      tried++
      const fault = await unpacked(other).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (!(fault instanceof LinkFault) || !/^This link is damaged/.test(fault.message)) read.push(other)
    }
    expect(read).toEqual([])
  })

  it('do not unpack to more than anybody wrote', async () => {
    const huge = await packed({ draft: { ...shared.draft, text: 'a'.repeat(1_000_000) } })
    await expect(unpacked(huge)).rejects.toThrow('too large')
  })

  it('of examples say where one is, and nothing else is taken for a place', () => {
    const tabs = ['structured', 'chat']
    for (const { name } of examples) {
      expect(placeIn(`#/structured/${slugOf(name)}`, tabs)).toEqual({ mode: 'structured', example: slugOf(name) })
    }
    expect(placeIn('#/chat', tabs)).toEqual({ mode: 'chat' })
    expect(placeIn('#/two-words/x', ['two-words'])).toEqual({ mode: 'two-words', example: 'x' })
    for (const hash of ['', '#', '#share=abc', '#/nowhere', '#/structured/a/b', '#/structured/<b>', '#key=x']) {
      expect(placeIn(hash, tabs), hash).toBeUndefined()
    }
  })

  it('become a line for a page of somebody else', () => {
    const line = frameOf('https://a.example/p/?x=1&y="2"#share=abc.12345678')
    expect(line).toMatch(/^<iframe src="https:\/\/a\.example\/p\/\?embed#share=abc\.12345678" [^<>]*><\/iframe>$/)
  })
})
