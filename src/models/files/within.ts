/** A repository names its files itself: what they are called must not lead out of it. */
import { broken } from './failure.js'

/** The name, where it stays below the repository wherever that is; throws it where not. */
export function within(place: string, name: string): string {
  const parts = name.split('/')
  const leads =
    parts.some((part) => part === '' || part === '.' || part === '..') || /[\\:?#\0]|%(2e|2f|5c|00)/i.test(name)
  if (leads) throw broken(place, `it names the file ${JSON.stringify(name).slice(0, 200)}, which is not inside it.`)
  return name
}
