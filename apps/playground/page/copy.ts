import { announce } from './dom.js'

/** Copies, and says so on the button for a moment. */
export async function copy(text: string, button: HTMLButtonElement): Promise<void> {
  button.dataset.label ??= button.textContent ?? ''
  try {
    if (isSecureContext) await navigator.clipboard.writeText(text)
    else copyAnyway(text)
    button.textContent = 'Copied'
    announce('Copied.')
  } catch {
    button.textContent = 'Not allowed'
    announce('Copying is not allowed here.')
  }
  setTimeout(() => {
    button.textContent = button.dataset.label ?? ''
  }, 1500)
}

/** A page that came over a network by plain http has no clipboard but that of its commands. */
function copyAnyway(text: string): void {
  let isCopied = false
  const write = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text)
    event.preventDefault()
    isCopied = true
  }
  document.addEventListener('copy', write, { once: true })
  document.execCommand('copy')
  document.removeEventListener('copy', write)
  if (!isCopied) throw new Error('This browser lets nothing be copied here.')
}
