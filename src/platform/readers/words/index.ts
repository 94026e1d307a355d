import { de } from './de.js'
import { en } from './en.js'
import { es } from './es.js'
import { fr } from './fr.js'
import { it } from './it.js'
import { nl } from './nl.js'
import { pt } from './pt.js'
import type { LanguageWords } from './words.js'

export type { LanguageWords, TimeUnit } from './words.js'

export const LANGUAGES = { en, de, fr, es, it, pt, nl } as const satisfies Readonly<Record<string, LanguageWords>>
export type LanguageName = keyof typeof LANGUAGES

/** Of all of them: what stands beside a value may be of another language. */
export const inAll = (pick: (words: LanguageWords) => readonly string[]): readonly string[] => [
  ...new Set(Object.values<LanguageWords>(LANGUAGES).flatMap(pick)),
]
