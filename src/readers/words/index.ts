import { de } from './de.js'
import { en } from './en.js'
import { es } from './es.js'
import { fr } from './fr.js'
import type { Words } from './words.js'

export type { TimeUnit, Words } from './words.js'

export const LANGUAGES = { en, de, fr, es } as const satisfies Readonly<Record<string, Words>>
export type LanguageName = keyof typeof LANGUAGES
