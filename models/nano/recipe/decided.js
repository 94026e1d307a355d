/**
 * Reads `decided/*.txt`: texts by hand with questions and their right options, in the form of `../eval/decisions.txt`:
 *
 *     # renting
 *     The text, on one line or several.
 *     ? what is broken = lighting | *hot water        a choice
 *     ^ how urgent is it = *today | this week         a score, its levels in order
 *     ! somebody had promised to come = true          a predicate
 *
 * and makes `{ text, questions: [{ type, question, options, right }] }` of one, each time other ones.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { allFakers } from '@faker-js/faker'
import { rng } from './random.js'
import { shuffle } from './text.js'
import { chance, pick } from './values.js'

const KINDS = { '?': 'choice', '^': 'score', '!': 'predicate' }
const TRULY = ['true', 'false']

export function readDecided(folder = new URL('decided/', import.meta.url)) {
  const files = readdirSync(folder).filter((name) => name.endsWith('.txt'))
  return files.sort().flatMap((name) => parseDecided(readFileSync(new URL(name, folder), 'utf8'), name))
}

export function parseDecided(content, file) {
  return content
    .split(/^# .*$/m)
    .slice(1)
    .map((part) => parseText(part.trim(), file))
}

function parseText(part, file) {
  const lines = part.split('\n').filter((line) => line.trim() !== '')
  // The questions are the last lines; before them a line may begin as it likes.
  const first = lines.findLastIndex((line) => !/^[?^!] .+ = /.test(line)) + 1
  const wrong = (why) => new Error(`${file}: ${why}: ${part.slice(0, 200)}`)
  if (first < 1 || first === lines.length) throw wrong('no text, or no question')
  const questions = lines.slice(first).map((line) => {
    const cut = line.lastIndexOf(' = ')
    const type = KINDS[line[0]]
    if (type === undefined || cut < 0) throw wrong(`not a question: ${line}`)
    const question = line.slice(2, cut).trim()
    const said = line.slice(cut + 3).trim()
    if (type === 'predicate') {
      if (!TRULY.includes(said)) throw wrong(`neither true nor false: ${line}`)
      return { type, question, options: TRULY, right: TRULY.indexOf(said) }
    }
    const all = said.split('|').map((option) => option.trim())
    const right = all.findIndex((option) => option.startsWith('*'))
    const options = all.map((option) => option.replace(/^\*/, '').trim())
    if (right < 0 || options.length < 2 || new Set(options).size < options.length) throw wrong(`options: ${line}`)
    return { type, question, options, right }
  })
  return { text: lines.slice(0, first).join('\n'), questions }
}

/** Some of the questions, asked otherwise than they stand there: other people, other options left, in another order, as a statement. */
export function decidedQuestions(source, most = 8) {
  const { text, questions } = chance(0.6) ? withOtherNames(source) : source
  return { text, questions: shuffle(questions).slice(0, most).map(asked) }
}

const FIRST_NAMES = (() => {
  const { generic = [], female = [], male = [] } = allFakers.en.definitions.person.first_name
  return [...new Set([...generic, ...female, ...male])].filter((name) => /^[A-Z][a-z]+$/.test(name))
})()
/** Names that are words as well. */
const WORDS = new Set(
  'Will Mark May April June August Grace Rose Hope Joy Art Bill Faith Dawn Sunny Summer Autumn Ruby Amber Crystal Pearl Jade Ivy Holly Lily Daisy Iris Violet Olive Jack Rob Frank Earnest Royal Major King Prince Duke Sky River Brook Brooke Forest Heath Cliff Dale Glen Lane Miles Rich Sterling Chance Destiny Precious Christian Paris London Sydney Charlotte Florence Austin Dallas Houston Jackson Madison Lincoln Washington Hudson Israel Jordan Chad Kenya India Asia Jersey Victoria Virginia Georgia Carolina Savannah Orlando Angel Star Gold Sunday Wednesday Guy Gay Max Ray Gene Dean Dane Clay Reed Rod Pat Sue Drew Don Van Chase Hunter Mason Taylor Carter Cooper Parker Porter Baker Fisher Turner Walker Tanner Ford Page Art Case Else Mercedes Santa Jewel Flo Merle Dock Green Gray Marine Kitty Mac Grant'.split(
    ' ',
  ),
)
const KNOWN = new Set(FIRST_NAMES.filter((name) => !WORDS.has(name)))

/** The same with other first names in it, in text and questions alike. */
function withOtherNames({ text, questions }) {
  const all = [text, ...questions.flatMap(({ question, options }) => [question, ...options])].join('\n')
  const names = [...new Set(all.match(/\b[A-Z][a-z]+\b/g) ?? [])].filter((name) => KNOWN.has(name))
  if (names.length === 0) return { text, questions }
  const others = new Map(names.map((name) => [name, pick(FIRST_NAMES)]))
  if (new Set(others.values()).size < names.length) return { text, questions }
  const said = (words) => words.replace(/\b[A-Z][a-z]+\b/g, (word) => others.get(word) ?? word)
  return {
    text: said(text),
    questions: questions.map((q) => ({ ...q, question: said(q.question), options: q.options.map(said) })),
  }
}

function asked(question) {
  const { type, options, right } = question
  if (type === 'predicate') return question
  const value = options[right]
  // Which option is true becomes whether one is.
  if (chance(0.12)) {
    const true_ = chance(0.5)
    const said = true_ ? value : pick(options.filter((option) => option !== value))
    return { type: 'predicate', question: `${question.question}: ${said}`, options: TRULY, right: true_ ? 0 : 1 }
  }
  if (type === 'score') return chance(0.2) ? turned(question, [...options].reverse()) : question
  const others = options.filter((option) => option !== value)
  const kept = others.length > 1 && chance(0.3) ? shuffle(others).slice(0, rng.int(1, others.length - 1)) : others
  return styledOptions(turned(question, shuffle([...kept, value])))
}

const turned = (question, options) => ({
  ...question,
  options,
  right: options.indexOf(question.options[question.right]),
})

/** The labels as programs write them, now and then. */
function styledOptions(question) {
  const roll = rng.float()
  const style =
    roll < 0.08
      ? (option) => option.replaceAll(' ', '_').toLowerCase()
      : roll < 0.12
        ? (option) => option.toUpperCase()
        : roll < 0.2
          ? (option) => option[0].toUpperCase() + option.slice(1)
          : undefined
  if (style === undefined) return question
  const options = question.options.map(style)
  return new Set(options).size < options.length ? question : { ...question, options }
}
