import { connect, type Socket } from 'node:net'

/** A connection on which a test writes bytes as it likes, and reads answers one after the other. */
export interface RawConnection {
  readonly socket: Socket
  write(...lines: string[]): void
  /** The next answer; `method` HEAD has no body. Rejects when the connection ends before it is whole. */
  answer(method?: string): Promise<RawAnswer>
  /** Everything that came and was not read as an answer yet. */
  rest(): string
  /** Settles when the other side has closed. */
  readonly closed: Promise<void>
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export async function rawConnection(port: number): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let buffer = Buffer.alloc(0)
  let ended = false
  let wake = () => {}
  socket.on('data', (data) => {
    buffer = Buffer.concat([buffer, data])
    wake()
  })
  const closed = new Promise<void>((resolve) => {
    const end = () => {
      ended = true
      wake()
      resolve()
    }
    socket.once('end', end).once('close', end)
  })
  // A reset is an end like any other: what came before it is what counts.
  socket.on('error', () => {})

  return {
    socket,
    closed,
    write: (...lines) => void socket.write(lines.join('\r\n')),
    rest: () => buffer.toString(),
    async answer(method = 'GET') {
      for (;;) {
        const parsed = parse(buffer, method, ended)
        if (parsed) {
          buffer = buffer.subarray(parsed.length)
          return parsed.answer
        }
        if (ended) throw new Error(`the connection ended: ${JSON.stringify(buffer.toString())}`)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
  }
}

function parse(bytes: Buffer, method: string, ended: boolean): { answer: RawAnswer; length: number } | undefined {
  const head = bytes.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const [first, ...lines] = bytes.toString('latin1', 0, head).split('\r\n')
  const status = Number(first!.split(' ')[1])
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const start = head + 4
  const whole = (body: string, length: number) => ({ answer: { status, headers, body }, length })
  if (method === 'HEAD' || status < 200 || status === 204) return whole('', start)
  if (headers['transfer-encoding'] === 'chunked') {
    const body = dechunk(bytes.subarray(start))
    return body && whole(body.text, start + body.length)
  }
  const length = headers['content-length']
  if (length === undefined) return ended ? whole(bytes.toString('utf8', start), bytes.length) : undefined
  const end = start + Number(length)
  return bytes.length < end ? undefined : whole(bytes.toString('utf8', start, end), end)
}

function dechunk(bytes: Buffer): { text: string; length: number } | undefined {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size
    if (bytes.length < end + 2) return undefined
    if (size === 0) return { text: Buffer.concat(pieces).toString(), length: end + 2 }
    pieces.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}
