import { followAddress, goTo, type Mode, modes } from './address.js'
import { byId } from './dom.js'
import { set, settings } from './settings.js'

/** Tabs as keyboards expect them: arrows move between them. */
export function connectTabs(): void {
  const all = modes()
  for (const mode of all) {
    const tab = tabOf(mode)
    tab.addEventListener('click', () => choose(mode))
    tab.addEventListener('keydown', ({ key }) => {
      if (key !== 'ArrowLeft' && key !== 'ArrowRight') return
      const step = key === 'ArrowRight' ? 1 : all.length - 1
      const other = all[(all.indexOf(mode) + step) % all.length]!
      choose(other)
      tabOf(other).focus()
    })
  }
  // A phone that is turned, a window that is made narrow.
  narrow.addEventListener('change', () => reveal(settings().mode))
  followAddress(settings().mode, show)
  show(settings().mode)
}

function choose(mode: Mode): void {
  show(mode)
  goTo(mode)
}

export function show(mode: Mode): void {
  set({ mode })
  for (const each of modes()) {
    const chosen = each === mode
    tabOf(each).setAttribute('aria-selected', String(chosen))
    tabOf(each).tabIndex = chosen ? 0 : -1
    panelOf(each).hidden = !chosen
  }
  reveal(mode)
  panelOf(mode).dispatchEvent(new Event('shown'))
}

/** Only on a phone they scroll; to ask whether has all of the page laid out. */
const narrow = matchMedia('(max-width: 480px)')

function reveal(mode: Mode): void {
  if (narrow.matches) tabOf(mode).scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

const panelOf = (mode: Mode) => byId(tabOf(mode).getAttribute('aria-controls')!, HTMLElement)
const tabOf = (mode: Mode) => byId(`${mode}-tab`, HTMLButtonElement)
