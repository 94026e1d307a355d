import { announce } from './dom.js'
import { set, settings } from './settings.js'

const dark = matchMedia('(prefers-color-scheme: dark)')

/** Light, dark, or as the system has it. */
export function showTheme(): 'light' | 'dark' {
  const { theme } = settings()
  const shown = theme === 'auto' ? (dark.matches ? 'dark' : 'light') : theme
  document.documentElement.dataset.theme = shown
  return shown
}

/** The button turns what is seen around. */
export function connectTheme(toggle: HTMLButtonElement): void {
  const apply = () => {
    const shown = showTheme()
    toggle.setAttribute('aria-pressed', String(shown === 'dark'))
    return shown
  }
  toggle.addEventListener('click', () => {
    const next = apply() === 'dark' ? 'light' : 'dark'
    const system = dark.matches ? 'dark' : 'light'
    set({ theme: next === system ? 'auto' : next })
    apply()
    announce(`${next} theme`)
  })
  dark.addEventListener('change', apply)
  apply()
}
