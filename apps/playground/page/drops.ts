/** Files that are dropped anywhere on the page go to the first that takes them. */
type Take = (files: readonly File[]) => boolean

const takers: Take[] = []

/** `take` says whether they are its. Who was asked for last is asked first. */
export function takeDrops(take: Take): void {
  takers.unshift(take)
  if (takers.length === 1) listen()
}

function listen(): void {
  const carries = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true
  let inside = 0
  const mark = (by: number) => {
    inside = Math.max(0, inside + by)
    document.body.classList.toggle('dropping', inside > 0)
  }
  addEventListener('dragenter', (event) => {
    if (carries(event)) mark(1)
  })
  addEventListener('dragleave', (event) => {
    if (carries(event)) mark(-1)
  })
  addEventListener('dragover', (event) => {
    if (carries(event)) event.preventDefault()
  })
  addEventListener('drop', (event) => {
    if (!carries(event)) return
    event.preventDefault()
    mark(-Number.MAX_SAFE_INTEGER)
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length > 0) takers.some((take) => take(files))
  })
}
