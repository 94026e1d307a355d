import { de } from './de.js'
import { en } from './en.js'
import { es } from './es.js'
import { fr } from './fr.js'
import type { LanguageWords } from './words.js'

export type { LanguageWords, TimeUnit } from './words.js'

export const LANGUAGES = { en, de, fr, es } as const satisfies Readonly<Record<string, LanguageWords>>
export type LanguageName = keyof typeof LANGUAGES
