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
    const give = (files: readonly File[]) => files.length > 0 && takers.some((take) => take(files))
    // Both are there only as long as the event is.
    const files = [...(event.dataTransfer?.files ?? [])]
    const entries = [...(event.dataTransfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry?.() ?? [])
    if (entries.some(({ isDirectory }) => isDirectory)) void filesBelow(entries).then(give)
    else give(files)
  })
}

/** Of folders all that is in them, however deep, by name; what systems hide there is nobody's text. */
export async function filesBelow(entries: readonly FileSystemEntry[]): Promise<File[]> {
  const shown = entries.filter(({ name }) => !name.startsWith('.'))
  const sorted = shown.toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
  const files = sorted.map(async (entry) => {
    if (isFolder(entry)) return filesBelow(await entriesOf(entry))
    const read = new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    // What may not be read, or is gone: an empty file is named among those that hold no text.
    return [await read.catch(() => new File([], entry.name))]
  })
  return (await Promise.all(files)).flat()
}

const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory

/** A reader gives some at a time, and none at the end. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const all: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return all
    all.push(...some)
  }
}
