import { el } from './dom.js'

/** As the browser saves downloads. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  el('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
