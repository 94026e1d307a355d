import { button, el, framed } from './dom.js'
import type { Machine } from './machine.js'
import { type Look, ModelRow } from './model-row.js'
import type { Models } from './models.js'

/** So many of the list are shown at first, and all that are of use already. */
const FIRST = 6

/** The list from which a model is chosen; the chosen one shows what can be done with it. */
export function modelsView(models: Models, machine: Machine, look: Look | undefined): HTMLElement {
  const list = el('div', { class: 'models', role: 'radiogroup', 'aria-labelledby': 'models-title' })
  const rows = new Map<string, ModelRow>()
  let whole = false
  const more = button(
    '',
    () => {
      whole = true
      draw()
      list.querySelectorAll('input')[FIRST]?.focus()
    },
    { class: 'quiet small more-models' },
  )
  const draw = () => {
    for (const [id, row] of rows) {
      if (models.list.some((model) => model.id === id)) continue
      row.element.remove()
      rows.delete(id)
    }
    for (const [place, model] of models.list.entries()) {
      const row = rows.get(model.id) ?? new ModelRow(models, model.id, machine, look)
      if (!rows.has(model.id)) list.append(row.element)
      rows.set(model.id, row)
      row.draw(model)
      const { loaded, kept } = model.metadata ?? {}
      const used =
        loaded || kept || models.selected === model.id || models.added.has(model.id) || models.loads.has(model.id)
      row.element.hidden = !whole && !used && place >= FIRST
    }
    more.hidden = [...rows.values()].every(({ element }) => !element.hidden)
    more.textContent = `All ${models.list.length} models`
  }
  models.onChange(framed(draw))
  draw()
  return el('div', {}, list, more)
}
