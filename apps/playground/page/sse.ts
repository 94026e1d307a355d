/** The data of each event of a stream; lines that are no data, such as heartbeats, are left out. */
export async function* events(response: Response): AsyncGenerator<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (rest + value).split('\n')
      rest = lines.pop()!
      for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6).trimEnd()
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
