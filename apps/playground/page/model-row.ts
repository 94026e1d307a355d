import { NANO } from '../../../src/models/catalog.js'
import type { Model } from './api.js'
import { announce, button, el } from './dom.js'
import { bytes } from './format.js'
import { type Advice, adviceFor, type Machine } from './machine.js'
import { aboutModel, downloadLabel, nameOf } from './model-names.js'
import type { Models } from './models.js'
import { progressView } from './progress-view.js'

/** Looks up what a model takes here, by its name at the hub. */
export type Look = (name: string) => void

/**
 * One model of the list. News of a download comes ten times a second: whatever it does not change stays the same
 * element, so that nobody loses a click or the focus.
 */
export class ModelRow {
  readonly element = el('div', { class: 'model' })
  readonly #models: Models
  readonly #id: string
  readonly #machine: Machine
  readonly #look: Look | undefined
  readonly #input: HTMLInputElement
  readonly #facts = el('span', { class: 'model-facts' })
  readonly #state = el('span', { class: 'state' })
  readonly #progress = el('div', {})
  #details: HTMLElement | undefined
  /** What the details were drawn from. */
  #drawn = ''

  constructor(models: Models, id: string, machine: Machine, look: Look | undefined) {
    this.#models = models
    this.#id = id
    this.#machine = machine
    this.#look = look
    this.#input = el('input', { type: 'radio', name: 'model', value: id })
    this.#input.addEventListener('change', () => models.select(id))
    const name = el('span', { class: 'model-name' }, el('strong', {}, nameOf(id)), this.#facts)
    this.element.append(el('label', { class: 'model-head' }, this.#input, name, this.#state))
  }

  draw(model: Model): void {
    const { loads, errors, selected } = this.#models
    const load = loads.get(this.#id)
    const advice = adviceFor(model, this.#machine)
    const { download_bytes: size, memory_bytes: memory } = model.metadata ?? {}
    const facts = [size !== undefined && bytes(size), memory !== undefined && `needs ${bytes(memory)}`]
    this.#facts.textContent = facts.filter(Boolean).join(' · ')
    const { kind, text } = stateOf(model, load !== undefined, errors.has(this.#id), advice, this.#machine)
    this.#state.className = `state ${kind}`
    this.#state.textContent = text
    this.#input.checked = selected === this.#id
    this.element.classList.toggle('selected', selected === this.#id)
    this.#drawDetails(model, advice, load !== undefined)
    this.#progress.replaceChildren(...(load ? [progressView(load)] : []))
  }

  #drawDetails(model: Model, advice: Advice, loading: boolean): void {
    const error = this.#models.errors.get(this.#id)
    const shown = this.#models.selected === this.#id
    const drawn = JSON.stringify([shown, model, advice, loading, error])
    if (drawn === this.#drawn) return
    this.#drawn = drawn
    const held = this.#details?.contains(document.activeElement)
    this.#details?.remove()
    this.#details = shown ? this.#newDetails(model, advice, loading, error) : undefined
    if (this.#details) this.element.append(this.#details)
    // Who pressed a button that is gone holds the one in its place.
    if (held) this.#details?.querySelector('button')?.focus()
  }

  #newDetails(model: Model, advice: Advice, loading: boolean, error: string | undefined): HTMLElement {
    const id = this.#id
    return el(
      'div',
      { class: 'model-details' },
      el('p', {}, aboutModel(id)?.about),
      el('p', { class: 'model-id' }, id),
      el('p', { class: `advice ${advice.kind}` }, advice.text),
      this.#progress,
      error ? el('p', { class: 'model-error', role: 'alert' }, error) : undefined,
      el('div', { class: 'actions' }, ...this.#actions(model, loading)),
    )
  }

  #actions({ metadata = {}, offered }: Model, loading: boolean): HTMLElement[] {
    const models = this.#models
    const id = this.#id
    const name = nameOf(id)
    // Also where the server has it on its list meanwhile.
    if (loading) return [this.#action('Stop', () => models.unload(id), `Stopped loading ${name}.`)]
    if (!models.managed && !offered) return []
    // The embedded model is part of the page, and there again with the next load.
    const removable = ((metadata.kept_bytes ?? 0) > 0 || models.added.has(id)) && id !== NANO
    const removal = removable
      ? [this.#action('Remove', () => models.remove(id), `${name} was removed from this device.`)]
      : []
    if (metadata.loaded) return [this.#action('Unload', () => models.unload(id), `${name} was unloaded.`), ...removal]
    const label = metadata.kept ? (offered ? 'Add' : 'Load') : downloadLabel({ metadata })
    return [this.#action(label, () => models.load(id), `${name} is ready.`), ...this.#measuring(), ...removal]
  }

  /** The embedded model is no repository, and fast everywhere. */
  #measuring(): HTMLElement[] {
    const from = aboutModel(this.#id)?.from
    const look = this.#look
    if (!look || from === undefined || this.#id === NANO) return []
    const label = 'Estimate speed'
    return [button(label, () => look(from), { class: 'small', 'aria-label': `${label}: ${nameOf(this.#id)}` })]
  }

  #action(label: string, doing: () => Promise<void>, done: string): HTMLElement {
    // What fails is shown as the model's error.
    const act = () =>
      void doing().then(
        () => announce(done),
        () => {},
      )
    return button(label, act, { class: 'small', 'aria-label': `${label}: ${nameOf(this.#id)}` })
  }
}

function stateOf(
  { metadata = {}, offered }: Model,
  loading: boolean,
  failed: boolean,
  { kind }: Advice,
  machine: Machine,
) {
  if (loading) return { kind: 'loading', text: 'Loading' }
  if (metadata.loaded) return { kind: 'ready', text: 'Ready' }
  if (failed) return { kind: 'failed', text: 'Failed' }
  if (metadata.kept) return { kind: 'kept', text: 'On disk' }
  if (kind === 'bad') return { kind: 'absent', text: 'Too large' }
  if (kind === 'slow') return { kind: 'absent', text: 'Slow here' }
  // A server alone knows what it has room for.
  return { kind: 'absent', text: (machine.elsewhere && !offered) || metadata.memory_bytes === undefined ? '' : 'Fits' }
}
