import { el, framed } from './dom.js'
import type { Machine } from './machine.js'
import { ModelRow } from './model-row.js'
import type { Models } from './models.js'

/** The list from which a model is chosen; the chosen one shows what can be done with it. */
export function modelsView(models: Models, machine: Machine): HTMLElement {
  const list = el('div', { class: 'models', role: 'radiogroup', 'aria-labelledby': 'models-title' })
  const rows = new Map<string, ModelRow>()
  const draw = () => {
    for (const [id, row] of rows) {
      if (models.list.some((model) => model.id === id)) continue
      row.element.remove()
      rows.delete(id)
    }
    for (const model of models.list) {
      const row = rows.get(model.id) ?? new ModelRow(models, model.id, machine)
      if (!rows.has(model.id)) list.append(row.element)
      rows.set(model.id, row)
      row.draw(model)
    }
  }
  models.onChange(framed(draw))
  draw()
  return list
}
