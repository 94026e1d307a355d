import { el } from './dom.js'
import type { Machine } from './machine.js'
import type { Models } from './models.js'

/** The chip in the header, and below the models why things run where they run. */
export function deviceView(models: Models, machine: Machine, chip: HTMLElement, place: HTMLElement): void {
  const draw = () => {
    const { metadata = {} } = models.list.find((model) => model.metadata?.device) ?? {}
    const onGpu = metadata.device === 'webgpu' || (metadata.device === undefined && machine.webgpu)
    chip.textContent = onGpu ? 'WebGPU' : metadata.device === undefined && machine.elsewhere ? 'Server' : 'CPU'
    chip.title = metadata.device_name ?? ''
    // The engine's own reason is news only where it is not the one that the page gives already.
    const reason = machine.webgpu && metadata.device === 'cpu' ? metadata.device_reason : undefined
    const facts = [metadata.device_name, reason].filter((fact) => fact !== undefined)
    place.replaceChildren(
      el('p', { class: machine.webgpu || machine.elsewhere ? 'muted' : 'notice' }, machine.explanation),
      el('p', { class: 'muted device-facts' }, facts.join(' · ')),
    )
  }
  models.onChange(draw)
  draw()
}
