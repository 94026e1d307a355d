/** The data of each event of a stream; lines that are no data, such as heartbeats, are left out. */
export async function* events(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += value
      // Of an event of megabytes most pieces end no line: all of it would be looked through for each.
      if (!value.includes('\n')) continue
      const lines = rest.split('\n')
      rest = lines.pop()!
      for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6).trimEnd()
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
