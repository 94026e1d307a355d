import type { CodeSample, Place } from './code.js'
import { codeTokens } from './code-tokens.js'
import { copy } from './copy.js'
import { byId, el } from './dom.js'
import { settings } from './settings.js'

let samples: readonly CodeSample[] = []
/** By name: it stays chosen from one request to the next. */
let chosen = ''

/** Shows the request as code that can be copied. */
export function showCode(codeFor: (place: Place) => readonly CodeSample[]): void {
  const served = document.documentElement.dataset.place === 'server'
  samples = codeFor({ project: settings().project, origin: location.origin, served })
  const shown = current()
  byId('code-languages', HTMLElement).replaceChildren(
    el('legend', { class: 'visually-hidden' }, 'Language'),
    ...samples.map(({ name }) => {
      const radio = el('input', { type: 'radio', name: 'language', value: name, checked: name === shown?.name })
      return el('label', {}, radio, el('span', {}, name))
    }),
  )
  draw()
  byId('code-dialog', HTMLDialogElement).showModal()
}

export function connectCodeDialog(): void {
  byId('code-languages', HTMLElement).addEventListener('change', ({ target }) => {
    chosen = (target as HTMLInputElement).value
    draw()
  })
  const copyCode = byId('code-copy', HTMLButtonElement)
  copyCode.addEventListener('click', () => void copy(current()?.code ?? '', copyCode))
}

const current = () => samples.find(({ name }) => name === chosen) ?? samples[0]

function draw(): void {
  const { code, name } = current() ?? { code: '', name: '' }
  const coloured = codeTokens(code, name).map(({ kind, text }) =>
    kind === 'plain' ? text : el('span', { class: `code-${kind}` }, text),
  )
  byId('code', HTMLPreElement).replaceChildren(...coloured)
}
