import { copy } from './copy.js'
import { asResult, type DeviceResult, MEASURES, type Measure, measure } from './device-bench.js'
import { announce, button, byId, el, swap } from './dom.js'
import { failureView } from './failure-view.js'
import { milliseconds, percent, rate } from './format.js'
import { linkWith } from './fragment.js'
import { keepValue, keptValue } from './kept.js'
import { nameOf } from './model-names.js'
import type { Models } from './models.js'
import { drawPicture } from './picture.js'
import { packed } from './share.js'

const KEPT = 'local-v1 playground device'
/** How fast this device is with the chosen model: measured, drawn, and shared as a link or a picture. */
export class DeviceBenchView {
  readonly #models: Models
  readonly #place = byId('bench-result', HTMLElement)
  readonly #run = byId('bench-run', HTMLButtonElement)
  readonly #stop = byId('bench-stop', HTMLButtonElement)
  /** From a link that somebody shared: to compare with. */
  #other: DeviceResult | undefined
  #aborter: AbortController | undefined

  constructor(models: Models, shared: DeviceResult | undefined) {
    this.#models = models
    this.#other = shared
    this.#run.addEventListener('click', () => void this.#start())
    this.#stop.addEventListener('click', () => this.#aborter?.abort())
    this.#draw(asResult(keptValue(KEPT)))
  }

  async #start(): Promise<void> {
    const aborter = new AbortController()
    this.#aborter = aborter
    swap(true, this.#run, this.#stop)
    const bar = el('progress', { max: 1, value: 0, 'aria-label': 'Measuring' })
    this.#place.replaceChildren(el('p', { class: 'muted' }, 'Measuring. Keep this tab in front until it is done.'), bar)
    try {
      await this.#models.loadForRequest()
      const { selected, current } = this.#models
      const result = await measure(selected, deviceOf(current), aborter.signal, (done, of) => {
        bar.value = done / of
      })
      keepValue(KEPT, result)
      await this.#models.refresh()
      this.#draw({ ...result, device: deviceOf(this.#models.current) })
      announce('Measured.')
    } catch (error) {
      if (aborter.signal.aborted) this.#draw(asResult(keptValue(KEPT)))
      else this.#place.replaceChildren(failureView(error, () => void this.#start()))
    } finally {
      this.#aborter = undefined
      swap(false, this.#run, this.#stop)
    }
  }

  #draw(result: DeviceResult | undefined): void {
    const shown = [...(result ? [result] : []), ...(this.#other ? [this.#other] : [])]
    if (shown.length === 0) {
      const what =
        'Measures reading, writing and strict JSON with the chosen model. It takes half a minute, and nothing is sent anywhere.'
      const { selected, current } = this.#models
      const on = current?.metadata?.device_name
      this.#place.replaceChildren(
        el('p', {}, `${nameOf(selected)}${on === undefined ? '' : ` on ${on}`}: not measured yet.`),
        el('p', { class: 'muted' }, what),
      )
      return
    }
    const charts = MEASURES.map(([key, label]) => chart(key, label, shown))
    this.#place.replaceChildren(...shown.map((each) => head(each, each === this.#other)), ...charts)
    if (result) this.#place.append(this.#sharing(result))
  }

  #sharing(result: DeviceResult): HTMLElement {
    const link: HTMLButtonElement = button('Copy link', () => {
      void packed(result).then((text) => copy(linkWith('device', text), link))
    })
    const picture = button('Save picture', () => {
      const saving = el('a', { download: 'my-device.png', href: drawPicture(result) })
      saving.click()
    })
    return el('div', { class: 'actions' }, link, picture)
  }
}

const deviceOf = (model: Models['current']): string => {
  const { device_name: name, device } = model?.metadata ?? {}
  return [device === 'webgpu' ? 'GPU' : 'CPU', name].filter(Boolean).join(', ')
}

function head(result: DeviceResult, shared: boolean): HTMLElement {
  return el(
    'div',
    { class: 'bench-head' },
    el('h3', {}, shared ? 'Shared with you' : 'This device'),
    el('p', { class: 'muted' }, `${nameOf(result.model)} · ${result.device} · ${result.date}`),
    el(
      'p',
      { class: 'muted' },
      `First token after ${milliseconds(result.firstMs)}; the schema decided ${percent(result.forced)} of the JSON`,
    ),
  )
}

/** Each measure on a scale of its own: reading is no faster writing. A bar says something beside another alone. */
function chart(key: Measure, label: string, results: readonly DeviceResult[]): HTMLElement {
  const most = Math.max(...results.map((each) => each[key]))
  const rows = results.map((result, i) => {
    const bar = el('span', { class: i === 0 ? 'bench-bar' : 'bench-bar other' })
    // Set as properties: a strict policy forbids style attributes in markup.
    bar.style.width = `${most > 0 ? (result[key] / most) * 100 : 0}%`
    const track = el('span', { class: 'bench-track', 'aria-hidden': 'true' }, bar)
    const figure = el('strong', {}, rate(result[key]))
    return el('div', { class: 'bench-row' }, results.length > 1 && track, figure)
  })
  return el('div', { class: 'bench-chart' }, el('p', {}, label, el('small', {}, ' tokens a second')), ...rows)
}
