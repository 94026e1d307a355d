import type { ChatBody } from './api.js'
import { asCurl, asJavaScript } from './code.js'
import { copy } from './copy.js'
import { byId } from './dom.js'
import { settings } from './settings.js'

type Language = 'javascript' | 'curl'

let body: ChatBody
let language: Language = 'javascript'

/** Shows the request as code that can be copied. */
export function showCode(request: ChatBody): void {
  body = request
  draw()
  byId('code-dialog', HTMLDialogElement).showModal()
}

export function connectCodeDialog(): void {
  for (const radio of document.querySelectorAll<HTMLInputElement>('input[name="language"]')) {
    radio.addEventListener('change', () => {
      language = radio.value as Language
      draw()
    })
  }
  byId('code-copy', HTMLButtonElement).addEventListener(
    'click',
    () => void copy(code(), byId('code-copy', HTMLButtonElement)),
  )
}

function code(): string {
  const { project } = settings()
  const served = document.documentElement.dataset.place === 'server'
  if (language === 'curl') return asCurl(body, project, served ? location.origin : undefined)
  return asJavaScript(body, project, location.origin, served)
}

function draw(): void {
  byId('code', HTMLPreElement).textContent = code()
}
