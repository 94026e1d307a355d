import { button, byId } from './dom.js'
import { takeFromFragment } from './fragment.js'
import { LinkFault, unpacked } from './share.js'

/** What the link held that this page was opened with. One that is damaged is said to be, and nothing of it is taken. */
export class OpenedLink {
  #fault: string | undefined

  async read<T>(name: string, as: (value: unknown) => T | undefined): Promise<T | undefined> {
    const text = takeFromFragment(name)
    if (text === undefined) return undefined
    try {
      const value = as(await unpacked(text))
      if (value === undefined)
        throw new LinkFault('This link was made by another version of this page and cannot be read.')
      return value
    } catch (error) {
      const { message } = error instanceof LinkFault ? error : new LinkFault('This link cannot be read.')
      this.#fault = `${message} What you see is your own, or the first example.`
      return undefined
    }
  }

  /** Once there is a page to say it in. */
  tell(): void {
    if (this.#fault === undefined) return
    const place = byId('link-fault', HTMLElement)
    const close = button(
      'Close',
      () => {
        place.hidden = true
        byId('work', HTMLElement).focus()
      },
      { class: 'quiet small' },
    )
    place.replaceChildren(this.#fault, close)
    place.hidden = false
  }
}
