import type { Found, How, Wanted } from '../worker/look-messages.js'
import { wordsOf } from '../worker/words.js'
import { announce, button, byId, el } from './dom.js'
import { takeDrops } from './drops.js'
import type { Finder } from './finder.js'
import { bytes, rate, whole } from './format.js'
import type { Machine } from './machine.js'
import type { Look } from './model-row.js'
import type { Models } from './models.js'

/** Slower than one reads. */
const SLOW = 5

/** Any model: what it takes is looked up before it is added, and nothing is downloaded by that. Gives what looks. */
export function connectAddModel(models: Models, machine: Machine, finder: Finder | undefined): Look | undefined {
  const form = byId('add-model', HTMLFormElement)
  const input = byId('add-model-id', HTMLInputElement)
  const place = byId('add-model-found', HTMLElement)
  if (!finder) return undefined
  form.hidden = false
  byId('add-model-names', HTMLElement).textContent = finder.names
  let newest = 0
  const closing = () => button('Close', () => place.replaceChildren(), { class: 'quiet small' })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (input.value.trim() !== '') void look(input.value)
  })
  byId('add-model-here', HTMLElement).append(...hereView(finder, (name) => void look(name)))
  if (finder.takesFiles) takeFiles(form, (files) => void look(files))
  return (name) => void look(name)

  async function look(wanted: Wanted, how: How = {}): Promise<void> {
    const attempt = ++newest
    const mine = (draw: () => void) => {
      if (attempt === newest) draw()
    }
    const name = typeof wanted === 'string' ? wanted.trim() : wanted.map((file) => file.name).join(', ')
    place.replaceChildren(
      el('p', { class: 'advice', role: 'status' }, el('span', { class: 'spinner' }), ` Checking ${name}`),
    )
    try {
      const found = await finder!.look(wanted, how)
      mine(() => show(found, wanted, how))
    } catch (error) {
      mine(() => fail(error, () => void look(wanted, how)))
    }
  }

  function fail(error: unknown, again: () => void): void {
    const actions = el('div', { class: 'actions' }, button('Check again', again, { class: 'small' }), closing())
    place.replaceChildren(el('p', { class: 'advice bad', role: 'alert' }, wordsOf(error)), actions)
  }

  function show(found: Found, wanted: Wanted, how: How): void {
    const listed = models.list.find(({ id }) => id === found.id)
    // One that a server offers is added from here as well.
    const isListed = listed !== undefined && !listed.offered
    if (listed) models.select(found.id)
    const { kind, text } = verdictOn(found, machine)
    const isFile = typeof wanted !== 'string'
    const size = isFile || found.leftBytes === 0 ? '' : `, ${bytes(found.leftBytes)}`
    const adding = button(`${isFile ? 'Save and add' : 'Add'}${size}`, () => void add(found, wanted, how), {
      class: 'small',
    })
    const [other] = found.instead
    const otherwise =
      other &&
      button(
        `Check ${other.model === undefined ? 'with ' : ''}${other.how}`,
        () => void look(other.model ?? wanted, other.model === undefined ? other : {}),
        { class: 'small' },
      )
    place.replaceChildren(
      el('p', { class: 'found-name' }, found.id),
      el('p', { class: `advice verdict ${kind}`, role: 'status' }, text),
      el('ul', { class: 'found-facts' }, ...factsOf(found, isFile).map((fact) => el('li', {}, fact))),
      el('div', { class: 'actions' }, kind === 'bad' ? otherwise : !isListed && adding, closing()),
    )
    place.scrollIntoView({ block: 'nearest' })
  }

  async function add(found: Found, wanted: Wanted, how: How): Promise<void> {
    const bar = el('progress', { max: 1, 'aria-label': `Adding ${found.id}` })
    const facts = el('p', { class: 'progress-facts' })
    place.replaceChildren(bar, facts)
    try {
      const id = await finder!.add(found, wanted, how, (done, of) => {
        if (of > 0) bar.value = done / of
        facts.textContent = of > 0 ? `${bytes(done)} of ${bytes(of)}` : ''
      })
      await listed(id)
      models.select(id)
      input.value = ''
      place.replaceChildren()
      announce(`${id} was added.`)
      focusOn(id)
    } catch (error) {
      fail(error, () => void add(found, wanted, how))
    }
  }

  /** The worker hears of it in its own time. */
  async function listed(id: string): Promise<void> {
    for (let i = 0; i < 20 && !models.list.some((model) => model.id === id); i++) {
      if (i > 0) await new Promise((resolve) => setTimeout(resolve, 100))
      await models.refresh().catch(() => {})
    }
  }
}

/** Who pressed the button that is gone, and nothing since, goes on at the row, once that is drawn. */
function focusOn(id: string, frames = 60): void {
  const row = [...byId('models', HTMLElement).querySelectorAll('input')].find(({ value }) => value === id)
  if (document.activeElement !== document.body) return
  if (row?.checkVisibility()) row.focus()
  else if (frames > 0) requestAnimationFrame(() => focusOn(id, frames - 1))
}

/** Whether it runs here, in one sentence. */
function verdictOn({ lacks, leftBytes, tokensPerSecond }: Found, { storage }: Machine) {
  if (lacks !== undefined) return { kind: 'bad', text: `Does not fit: ${lacks.replace(/\.$/, '')}.` }
  if (storage !== undefined && leftBytes > storage)
    return { kind: 'bad', text: `Does not fit: this browser can store only ${bytes(storage)} more.` }
  if (tokensPerSecond !== undefined && tokensPerSecond < SLOW) return { kind: 'slow', text: 'Fits, but is slow here.' }
  return { kind: 'good', text: 'Fits.' }
}

function factsOf({ leftBytes, memoryBytes, contextLength, tokensPerSecond, device }: Found, isFile: boolean): string[] {
  const facts = [
    isFile ? 'on this computer' : leftBytes > 0 ? `${bytes(leftBytes)} to download` : 'nothing to download',
  ]
  if (memoryBytes !== undefined) facts.push(`${bytes(memoryBytes)} of memory`)
  if (contextLength !== undefined) facts.push(`a context of ${whole(contextLength)} tokens`)
  if (tokensPerSecond !== undefined) facts.push(`about ${rate(tokensPerSecond)} tokens a second on ${device}`)
  return facts
}

/** What lies on the machine of the server, to be chosen with one press. */
function hereView({ here }: Finder, choose: (name: string) => void): HTMLElement[] {
  if (here.length === 0) return []
  const rows = here.map(({ name, bytes: size }) =>
    el(
      'li',
      {},
      button(name, () => choose(name), { class: 'quiet small' }),
      size !== undefined && bytes(size),
    ),
  )
  return [
    el('details', { open: true }, el('summary', {}, `On this machine already: ${here.length}`), el('ul', {}, ...rows)),
  ]
}

/** Chosen with the button, or dropped anywhere on the page. */
function takeFiles(form: HTMLElement, take: (files: readonly File[]) => void): void {
  const chooser = byId('add-model-file', HTMLInputElement)
  const given = (files: readonly File[]) => {
    if (files.length === 0) return
    const panel = form.closest('details')
    if (panel) panel.open = true
    form.scrollIntoView({ block: 'nearest' })
    take(files)
  }
  const choose = button('Choose a GGUF file', () => chooser.click(), { class: 'small' })
  form.querySelector('.add-model-ways')?.append(choose)
  chooser.addEventListener('change', () => {
    given([...(chooser.files ?? [])])
    // The same file may be chosen again.
    chooser.value = ''
  })
  takeDrops((files) => {
    given(files)
    return true
  })
}
