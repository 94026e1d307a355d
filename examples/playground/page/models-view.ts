import { type CatalogModel, catalog, NANO } from '../worker/catalog.js'
import type { Model } from './api.js'
import { announce, button, el, framed } from './dom.js'
import { bytes } from './format.js'
import { adviceFor, type Machine } from './machine.js'
import type { Models } from './models.js'
import { progressView } from './progress-view.js'

const known = new Map<string, CatalogModel>(catalog.map((model) => [model.id, model]))

export const nameOf = (id: string): string => known.get(id)?.name ?? id.slice(id.indexOf('/') + 1)

export const chats = (id: string): boolean => known.get(id)?.chats ?? true

/** What a button says that needs the model: a download of hundreds of megabytes is no surprise. */
export function actionLabel({ current, selected, loads }: Models, action: string): string {
  const { loaded, kept, download_bytes: size } = current?.metadata ?? {}
  if (loads.has(selected)) return `${action} when ready`
  if (loaded || kept || size === undefined || selected === NANO) return action
  return `Download ${bytes(size)} and ${action.toLowerCase()}`
}

/** The list from which a model is chosen; the chosen one shows what can be done with it. */
export function modelsView(models: Models, machine: Machine): HTMLElement {
  const list = el('div', { class: 'models', role: 'radiogroup', 'aria-labelledby': 'models-title' })
  const draw = () => {
    const focused = focusKey(list)
    list.replaceChildren(...models.list.map((model) => row(models, model, machine)))
    if (focused) list.querySelector<HTMLElement>(focused)?.focus()
  }
  const drawSoon = framed(draw)
  models.onChange(drawSoon)
  draw()
  return list
}

/** Redrawing must not take the focus from what the user holds. */
function focusKey(list: HTMLElement): string | undefined {
  const { activeElement } = document
  if (!activeElement || !list.contains(activeElement)) return undefined
  const key = activeElement.getAttribute('data-key')
  return key === null ? undefined : `[data-key="${CSS.escape(key)}"]`
}

function row(models: Models, model: Model, machine: Machine): HTMLElement {
  const { id, metadata = {} } = model
  const selected = models.selected === id
  const input = el('input', { type: 'radio', name: 'model', value: id, 'data-key': id, checked: selected })
  input.addEventListener('change', () => models.select(id))
  const facts = [
    metadata.download_bytes === undefined ? undefined : bytes(metadata.download_bytes),
    metadata.memory_bytes === undefined ? undefined : `needs ${bytes(metadata.memory_bytes)}`,
  ].filter((fact) => fact !== undefined)
  const head = el(
    'label',
    { class: 'model-head' },
    input,
    el(
      'span',
      { class: 'model-name' },
      el('strong', {}, nameOf(id)),
      el('span', { class: 'model-facts' }, facts.join(' · ')),
    ),
    stateOf(models, model, machine),
  )
  return el(
    'div',
    { class: selected ? 'model selected' : 'model' },
    head,
    selected ? details(models, model, machine) : undefined,
  )
}

function stateOf(models: Models, model: Model, machine: Machine): HTMLElement {
  const { id, metadata = {} } = model
  const state = (kind: string, text: string) => el('span', { class: `state ${kind}` }, text)
  if (models.loads.has(id)) return state('loading', 'Loading')
  if (metadata.loaded) return state('ready', 'Ready')
  if (models.errors.has(id)) return state('failed', 'Failed')
  if (metadata.kept) return state('kept', 'On disk')
  const { kind } = adviceFor(model, machine)
  return state(`absent ${kind}`, kind === 'bad' ? 'Too large' : kind === 'slow' ? 'Slow here' : '')
}

function details(models: Models, model: Model, machine: Machine): HTMLElement {
  const { id, metadata = {} } = model
  const load = models.loads.get(id)
  const error = models.errors.get(id)
  const advice = adviceFor(model, machine)
  return el(
    'div',
    { class: 'model-details' },
    el('p', {}, known.get(id)?.about ?? id),
    id === nameOf(id) ? undefined : el('p', { class: 'model-id' }, id),
    el('p', { class: `advice ${advice.kind}` }, advice.text),
    load ? progressView(load) : undefined,
    error ? el('p', { class: 'model-error', role: 'alert' }, error) : undefined,
    el('div', { class: 'actions' }, ...actions(models, model, load !== undefined, metadata.loaded === true)),
  )
}

function actions(models: Models, model: Model, loading: boolean, loaded: boolean): HTMLElement[] {
  const { id, metadata = {} } = model
  const name = nameOf(id)
  const act = (label: string, doing: () => Promise<unknown>, done: string) =>
    button(
      label,
      () =>
        void doing().then(
          () => announce(done),
          () => {},
        ),
      {
        class: 'small',
        'data-key': `${id} ${label}`,
        'aria-label': `${label}: ${name}`,
      },
    )
  if (loading) return [act('Stop', () => models.unload(id), `Stopped loading ${name}.`)]
  // The embedded model is part of the page, and there again with the next load.
  const kept = (metadata.kept_bytes ?? 0) > 0 && id !== NANO
  const removal = act('Remove', () => models.remove(id), `${name} was removed from this device.`)
  if (loaded) return [act('Unload', () => models.unload(id), `${name} was unloaded.`), ...(kept ? [removal] : [])]
  const size = metadata.download_bytes
  const label = metadata.kept ? 'Load' : `Download${size === undefined ? '' : ` ${bytes(size)}`}`
  return [act(label, () => models.load(id), `${name} is ready.`), ...(kept ? [removal] : [])]
}
