/** Pages in a frame that can be as narrow as a phone: windows have a least width. */
import { request } from 'node:http'
import { type Listening, listen } from '../../test/support/serve.js'

const FRAME = '/frame.html'

/** `?` and the address of what it shows. */
export const framing = (path: string) => `${FRAME}?${encodeURIComponent(path)}`

/** `elsewhere`: under another name of this machine, which to a browser is another site. */
export const frame = ({ elsewhere = false } = {}) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>frame</title><style>body { margin: 0 } iframe { border: 0 }</style>
<iframe width="1280" height="880" title="page"></iframe><script>
document.querySelector('iframe').src = ${elsewhere ? "location.origin.replace('127.0.0.1', 'localhost') + " : ''}decodeURIComponent(location.search.slice(1))
</script></html>`

/** What a server on this machine has, and beside it a page with a frame, which its own policy would forbid. */
export const framedServer = (port: number): Promise<Listening> =>
  listen((incoming, answer) => {
    if (incoming.url?.startsWith(FRAME)) return void answer.setHeader('content-type', 'text/html').end(frame())
    const host = `127.0.0.1:${port}`
    const headers = { ...incoming.headers, host, ...(incoming.headers.origin && { origin: `http://${host}` }) }
    const passed = request(
      { port, host: '127.0.0.1', path: incoming.url, method: incoming.method, headers },
      (response) => {
        const policy = String(response.headers['content-security-policy'] ?? '').replace("frame-ancestors 'none'", '')
        answer.writeHead(response.statusCode!, {
          ...response.headers,
          ...(policy && { 'content-security-policy': policy }),
        })
        response.pipe(answer)
      },
    )
    incoming.pipe(passed)
    answer.on('close', () => passed.destroy())
    passed.on('error', () => answer.destroy())
  })
