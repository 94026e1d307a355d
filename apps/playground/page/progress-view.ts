import { el } from './dom.js'
import { bytes, percent, seconds } from './format.js'
import type { Load } from './models.js'

const PHASES = { download: 'Downloading', read: 'Reading', upload: 'Preparing', compile: 'Compiling', ready: 'Ready' }

/** How far a load is: bytes, speed, time left. */
export function progressView({
  phase,
  bytes_loaded: loaded,
  bytes_total: total,
  files_loaded: done = 0,
  files_total: of = 0,
  speed,
  seconds_left: left,
}: Load): HTMLElement {
  // All bytes are there while kernels are compiled, which are counted as files are.
  const share = phase === 'compile' && of > 0 ? done / of : total > 0 ? loaded / total : 0
  const facts = [total > 0 ? `${bytes(loaded)} of ${bytes(total)}` : undefined]
  if (phase === 'download' && loaded < total) {
    if (speed !== undefined) facts.push(`${bytes(speed)}/s`)
    if (left !== undefined) facts.push(`${seconds(left)} left`)
  }
  const bar = el('progress', { max: 1, value: share, 'aria-label': PHASES[phase] })
  if (total === 0) bar.removeAttribute('value')
  return el(
    'div',
    { class: 'progress' },
    el(
      'div',
      { class: 'progress-head' },
      el('span', {}, PHASES[phase]),
      el('span', {}, total > 0 ? percent(share) : ''),
    ),
    bar,
    el('p', { class: 'progress-facts' }, facts.filter((fact) => fact !== undefined).join(' · ')),
  )
}
