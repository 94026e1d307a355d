import { announce } from './dom.js'

/** Copies, and says so on the button for a moment. */
export async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  button.dataset.label ??= button.textContent ?? ''
  try {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
    announce('Copied.')
  } catch {
    button.textContent = 'Not allowed'
  }
  setTimeout(() => {
    button.textContent = button.dataset.label ?? ''
  }, 1500)
}
