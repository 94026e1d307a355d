import { byId } from './dom.js'
import { setKey } from './server-key.js'

let given: (() => void) | undefined

/** Asks for the server's key, and goes on with what needed it. */
export function askForKey(then: () => void): void {
  given = then
  byId('key-dialog', HTMLDialogElement).showModal()
}

export function connectKeyDialog(): void {
  const input = byId('key', HTMLInputElement)
  byId('key-dialog', HTMLDialogElement).addEventListener('close', () => {
    const { returnValue } = byId('key-dialog', HTMLDialogElement)
    if (returnValue !== 'use' || input.value.trim() === '') return
    setKey(input.value)
    input.value = ''
    given?.()
  })
}
