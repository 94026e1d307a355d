/**
 * Threads need a cross-origin isolated page, and most places for static files cannot send the headers for it: a service
 * worker adds them. Where there is none to be had, the page works on with one thread and says so in its report.
 */
export async function isolate(): Promise<void> {
  if (crossOriginIsolated || !isSecureContext || !navigator.serviceWorker) return
  // Once only: should it not help, the page must not load itself for ever.
  if (sessionStorage.getItem('isolated')) return
  sessionStorage.setItem('isolated', 'tried')
  await navigator.serviceWorker.register('./isolating-worker.js')
  await navigator.serviceWorker.ready
  location.reload()
  await new Promise(() => {})
}
