/** Libraries that read dates, times, numbers and durations, each asked as its own documentation asks it. */
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import type { CaseKind, CaseLanguage, ReaderCase } from '../../src/platform/readers/cases.test-helper.js'

export interface Peer {
  readonly name: string
  /** What a page would load to have it. */
  readonly source: string
  /** Undefined: it has no reader for these. */
  read(one: ReaderCase, reference: Date): string | number | null | undefined
}

const two = (value: number) => String(value).padStart(2, '0')
const dayOf = (date: Date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
const timeOf = (date: Date) =>
  `${two(date.getHours())}:${two(date.getMinutes())}${date.getSeconds() ? `:${two(date.getSeconds())}` : ''}`
const momentOf = (date: Date) =>
  `${dayOf(date)}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`

const formatted = (kind: CaseKind, date: Date) =>
  kind === 'date' ? dayOf(date) : kind === 'time' ? timeOf(date) : momentOf(date)

/** Those that are installed in a folder; the others are named. */
export function peersIn(folder: string): readonly Peer[] {
  const require = createRequire(join(resolve(folder), 'package.json'))
  return Object.entries(PEERS).flatMap(([name, peer]) => {
    try {
      require.resolve(name)
    } catch {
      console.log(`${name} is left out: it is not installed in ${folder}.`)
      return []
    }
    return [peer(require)]
  })
}

/** By the package that is looked for. */
const PEERS: Readonly<Record<string, (require: NodeJS.Require) => Peer>> = {
  'chrono-node': chrono,
  'any-date-parser': anyDate,
  'compromise-dates': compromise,
  '@microsoft/recognizers-text-suite': recognizers,
}

// biome-ignore lint/suspicious/noExplicitAny: these are installed outside the repository, without their types.
type Loaded = any

function chrono(require: NodeJS.Require): Peer {
  const all: Loaded = require('chrono-node')
  return {
    name: 'chrono-node',
    source: `export { en, de, fr, es, it, pt, nl } from 'chrono-node'`,
    read({ kind, language, text }, reference) {
      if (kind === 'number' || kind === 'duration') return undefined
      const found = all[language].parse(text, reference)
      if (found.length !== 1) return null
      const { start } = found[0]
      const needs = kind === 'time' ? ['hour'] : kind === 'date' ? ['day'] : ['day', 'hour']
      // What it fills in by itself is no reading.
      if (!needs.every((part) => start.isCertain(part) || (part === 'day' && start.isCertain('weekday')))) return null
      const date: Date = start.date()
      const offset = start.get('timezoneOffset')
      if (kind === 'datetime' && offset !== null && start.isCertain('timezoneOffset')) {
        const there = new Date(date.getTime() + (offset + date.getTimezoneOffset()) * 60_000)
        const sign = offset < 0 ? '-' : '+'
        const zone = `${sign}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`
        return momentOf(there) + (offset === 0 ? 'Z' : zone)
      }
      return formatted(kind, date)
    },
  }
}

function anyDate(require: NodeJS.Require): Peer {
  const parser: Loaded = require('any-date-parser')
  const { fromString, attempt } = parser.default ?? parser
  return {
    name: 'any-date-parser',
    source: `export * from 'any-date-parser'`,
    read({ kind, language, text }) {
      if (kind === 'number' || kind === 'duration') return undefined
      const locale = new Intl.Locale(CULTURES[language]).toString()
      const parts = (parser.attempt ?? attempt)(text, locale)
      if (parts.invalid !== undefined) return null
      if (kind !== 'time' && (parts.year === undefined || parts.month === undefined || parts.day === undefined))
        return null
      if (kind !== 'date' && parts.hour === undefined) return null
      const date: Date = (parser.fromString ?? fromString)(text, locale)
      if (kind === 'time') return timeOf(new Date(2000, 0, 1, parts.hour, parts.minute ?? 0, parts.second ?? 0))
      return kind === 'date' ? `${parts.year}-${two(parts.month)}-${two(parts.day)}` : momentOf(date)
    },
  }
}

function compromise(require: NodeJS.Require): Peer {
  const nlp: Loaded = require('compromise')
  nlp.plugin(require('compromise-dates'))
  return {
    name: 'compromise, compromise-dates (English)',
    source: `export { default } from 'compromise'; export { default as dates } from 'compromise-dates'`,
    read({ kind, language, text }, reference) {
      if (language !== 'en') return undefined
      if (kind === 'number') return nlp(text).numbers().get()[0] ?? null
      const context = { today: dayOf(reference) }
      if (kind === 'duration') {
        const found = nlp(text).durations(context).get()
        if (found.length !== 1) return null
        const { year = 0, month = 0, week = 0, day = 0, hour = 0, minute = 0, second = 0 } = found[0]
        if (year || month) return null
        return (((week * 7 + day) * 24 + hour) * 60 + minute) * 60 + second
      }
      if (kind === 'time') return nlp(text).times(context).get()[0]?.['24h'] ?? null
      const found = nlp(text).dates(context).get()
      if (found.length !== 1 || !found[0].start) return null
      const start: string = found[0].start
      return kind === 'date' ? start.slice(0, 10) : start.slice(0, 19) + (start.endsWith('Z') ? 'Z' : '')
    },
  }
}

const CULTURES: Readonly<Record<CaseLanguage, string>> = {
  ...{ en: 'en-us', de: 'de-de', fr: 'fr-fr', es: 'es-es', it: 'it-it', pt: 'pt-br', nl: 'nl-nl' },
}

function recognizers(require: NodeJS.Require): Peer {
  const suite: Loaded = require('@microsoft/recognizers-text-suite')
  return {
    name: '@microsoft/recognizers-text-suite',
    source: `export * from '@microsoft/recognizers-text-suite'`,
    read({ kind, language, text }, reference) {
      const culture = CULTURES[language]
      if (kind === 'number') {
        const found = suite.recognizeNumber(text, culture)
        return found.length === 1 ? Number(found[0].resolution?.value) : null
      }
      let found: Loaded[]
      try {
        found = suite.recognizeDateTime(text, culture, undefined, reference)
      } catch {
        return null
      }
      if (found.length !== 1) return null
      const values: Loaded[] = found[0].resolution?.values ?? []
      const want = { date: 'date', time: 'time', datetime: 'datetime', duration: 'duration' }[kind]
      const fits = values.filter(({ type, value }) => type === want && value !== undefined && value !== 'not resolved')
      if (fits.length === 0) return null
      // Of a date without a year it gives the one before and the one after: the nearer one is asked for.
      const [first] = fits.sort((a, b) => distance(a.value, reference) - distance(b.value, reference))
      if (kind === 'duration') return /^P\d+[MY]$/.test(first.timex) ? null : Number(first.value)
      if (kind === 'time') return first.value.replace(/:00$/, '').padStart(5, '0')
      return kind === 'date' ? first.value : first.value.replace(' ', 'T')
    },
  }
}

const distance = (value: string, reference: Date) => Math.abs(new Date(value).getTime() - reference.getTime()) || 0
