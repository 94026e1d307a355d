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

/** The button that stops, in the place of the one that starts: who held one, or something of `others`, holds the other. */
export function swap(busy: boolean, start: HTMLElement, stop: HTMLElement, ...others: HTMLElement[]): void {
  const held = [start, stop, ...others].some((each) => each.contains(document.activeElement))
  start.hidden = busy
  stop.hidden = !busy
  if (held) (busy ? stop : start).focus()
}

/**
 * Runs `draw` once per frame, however often it is asked for, and not before as much time has gone by as the frame took that
 * it drew last: to draw a long answer takes long, and whoever reads wants to scroll, select and stop.
 */
export function framed(draw: () => void, now = () => performance.now()): () => void {
  let isNext = false
  let isWanted = false
  const begin = () => {
    isNext = true
    isWanted = false
    // A tab in the background draws no frames, and its answers go on.
    if (document.hidden) setTimeout(run, 100)
    else requestAnimationFrame(run)
  }
  const run = () => {
    const began = now()
    const pause = () => setTimeout(rest, now() - began)
    // Behind the frame: to lay it out takes longer than to make it. In the background timers wait, and nothing is laid out.
    if (!document.hidden) setTimeout(pause)
    draw()
    if (document.hidden) pause()
  }
  const rest = () => {
    isNext = false
    if (isWanted) begin()
  }
  return () => {
    isWanted = true
    if (!isNext) begin()
  }
}

/**
 * Makes what stands like `wanted`, which is taken apart for it. What is so already is left alone: whoever has selected
 * words of it or stands at one of its links goes on, and it is not laid out anew.
 */
export function become(standing: Element, wanted: Element): void {
  for (const { name } of [...standing.attributes]) if (!wanted.hasAttribute(name)) standing.removeAttribute(name)
  for (const { name, value } of wanted.attributes) {
    if (standing.getAttribute(name) !== value) standing.setAttribute(name, value)
  }
  becomeAfter(standing, 0, [...wanted.childNodes])
}

/** The same for what stands in it after its first `count` nodes, which are not looked at. */
export function becomeAfter(standing: Element, count: number, wanted: readonly Node[]): void {
  const old: ChildNode[] = []
  for (let node = standing.childNodes[count]; node; node = node.nextSibling ?? undefined) old.push(node)
  for (const gone of old.slice(wanted.length)) gone.remove()
  for (const [i, node] of wanted.entries()) {
    const before = old[i]
    if (!before) standing.append(node)
    else if (before.isEqualNode(node)) continue
    else if (before instanceof Text && node instanceof Text) grow(before, node.data)
    else if (before instanceof Element && node instanceof Element && before.tagName === node.tagName) {
      become(before, node)
    } else before.replaceWith(node)
  }
}

/** A selection in it stays where it only grows. */
function grow(text: Text, data: string): void {
  if (data.startsWith(text.data)) text.appendData(data.slice(text.length))
  else text.data = data
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
