/**
 * Where one is, as the address says it after `#`: `#/structured/invoice`. Each tab and example has one, and the browser's
 * Back leads from one to the one before.
 */

/** The name of a tab: the page has the element `<name>-tab`. */
export type Mode = string

/** In their order, as the page has them. */
export const modes = (): readonly Mode[] =>
  [...document.querySelectorAll('[role="tab"]')].map(({ id }) => id.slice(0, -'-tab'.length))

export interface Place {
  readonly mode: Mode
  /** The example's name, as an address has it; undefined: whichever is there. */
  readonly example?: string
}

/** What is in front of each tab. */
const shown = new Map<Mode, string>()
const followers = new Map<Mode, (example: string) => void>()
let first: Place = { mode: 'structured' }
let showTab: (mode: Mode) => void = () => {}

/** What the address says; undefined: nothing of this. */
export function placeIn(hash: string, known = modes()): Place | undefined {
  const [, mode, example] = /^#\/([a-z]+(?:-[a-z]+)*)(?:\/([\w-]+))?$/.exec(hash) ?? []
  if (mode === undefined || !known.includes(mode)) return undefined
  return { mode, ...(example !== undefined && { example }) }
}

export const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')

/** The example that a tab begins with, where the address names one. */
export const wantedExample = (mode: Mode): string | undefined => {
  const place = placeIn(location.hash)
  return place?.mode === mode ? place.example : undefined
}

/** An example is in front of a tab; `byHand`: somebody chose it, and it is a step that Back undoes. */
export function showsExample(mode: Mode, name: string, byHand: boolean): void {
  shown.set(mode, slugOf(name))
  if (byHand) step({ mode, example: slugOf(name) })
}

/** Hears of examples that the address asks for, by Back or by a link. */
export function onExample(mode: Mode, follow: (example: string) => void): void {
  followers.set(mode, follow)
}

/** A tab that somebody chose. */
export function goTo(mode: Mode): void {
  const example = shown.get(mode)
  step({ mode, ...(example !== undefined && { example }) })
}

/** From here on the address is followed. `mode`: what is in front at first. */
export function followAddress(mode: Mode, show: (mode: Mode) => void): void {
  first = { mode }
  showTab = show
  addEventListener('popstate', () => {
    const place = location.hash === '' ? first : placeIn(location.hash)
    if (!place) return
    showTab(place.mode)
    if (place.example !== undefined && place.example !== shown.get(place.mode)) {
      followers.get(place.mode)?.(place.example)
    }
  })
}

function step({ mode, example }: Place): void {
  const hash = `#/${mode}${example === undefined ? '' : `/${example}`}`
  if (hash !== location.hash) history.pushState(null, '', location.pathname + location.search + hash)
}
