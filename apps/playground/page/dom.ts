type Child = Node | string | undefined | null | false
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

/** An element, in one expression. An attribute that is false or absent is left out; `true` is an empty one. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue
    element.setAttribute(name, value === true ? '' : String(value))
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== false))
  return element
}

/** A name of several words, which may go on in the next line between them: `duration_minutes`, `dueDate`. */
export function breakable(name: string): (string | HTMLElement)[] {
  const words = name.split(/(?<=[_./-])(?=[^_./-])|(?<=\p{Ll})(?=\p{Lu})/u)
  return words.flatMap((word, i) => (i === 0 ? [word] : [el('wbr'), word]))
}

export function button(label: string, onClick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const element = el('button', { type: 'button', ...attributes }, label)
  element.addEventListener('click', onClick)
  return element
}

/** An element of index.html. */
export function byId<T extends HTMLElement>(id: string, type: new () => T): T {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`index.html has no ${type.name} #${id}.`)
  return element
}

/** Runs `draw` once per frame, however often it is asked for. */
export function framed(draw: () => void): () => void {
  let scheduled = false
  return () => {
    if (scheduled) return
    scheduled = true
    // A tab in the background draws no frames, and its answers go on.
    const now = () => {
      scheduled = false
      draw()
    }
    if (document.hidden) setTimeout(now, 100)
    else requestAnimationFrame(now)
  }
}

/** Where an answer stands below what is asked, it is out of sight: this shows the panel that it is in. */
export function showPanelOf(answer: HTMLElement): void {
  if (!matchMedia('(max-width: 1180px)').matches) return
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches
  answer.closest('.panel')?.scrollIntoView({ block: 'start', behavior: calm ? 'instant' : 'smooth' })
}

/** Says it to screen readers. */
export function announce(text: string): void {
  byId('announcer', HTMLElement).textContent = text
}
