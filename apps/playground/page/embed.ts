import { byId, el } from './dom.js'

/** One tab of the page in a frame of somebody's own page: `?embed` leaves away what stands around it. */
export function markEmbedded(): void {
  if (new URLSearchParams(location.search).has('embed')) document.documentElement.dataset.embed = ''
}

/** The way out of the frame. */
export function connectEmbed(): void {
  if (document.documentElement.dataset.embed === undefined) return
  const alone = new URL(location.href)
  alone.search = ''
  byId('embedded', HTMLElement).append(
    el('a', { href: alone.href, target: '_blank', rel: 'noopener' }, 'Open in its own tab'),
  )
}

/** The line of HTML that shows what a link leads to. */
export function frameOf(link: string): string {
  const url = new URL(link)
  url.search = '?embed'
  const src = url.href.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<iframe src="${src}" title="local-v1 playground" width="100%" height="640" loading="lazy"></iframe>`
}
