import { byId } from './dom.js'
import { type Settings, set, settings } from './settings.js'

type Mode = Settings['mode']
const MODES: readonly Mode[] = ['structured', 'chat']

/** Tabs as keyboards expect them: arrows move between them. */
export function connectTabs(): void {
  for (const mode of MODES) {
    const tab = tabOf(mode)
    tab.addEventListener('click', () => show(mode))
    tab.addEventListener('keydown', ({ key }) => {
      if (key !== 'ArrowLeft' && key !== 'ArrowRight') return
      const other = MODES[(MODES.indexOf(mode) + 1) % MODES.length]!
      show(other)
      tabOf(other).focus()
    })
  }
  show(settings().mode)
}

function show(mode: Mode): void {
  set({ mode })
  for (const each of MODES) {
    const chosen = each === mode
    tabOf(each).setAttribute('aria-selected', String(chosen))
    tabOf(each).tabIndex = chosen ? 0 : -1
    byId(each, HTMLElement).hidden = !chosen
  }
}

const tabOf = (mode: Mode) => byId(`${mode}-tab`, HTMLButtonElement)
