import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tinyRepository, writeRepository } from '../src/engines/webgpu/tiny-repository.test-helper.js'
import { PROGRAM, SCHEMA } from './support/cli.js'
import { ownFolder } from './support/own-folder.js'
import { type RawConnection, rawConnection } from './support/raw-http.js'
import { printed, type Running, start } from './support/spawn.js'

/** Far longer than a test may take: what ends all the same was not waited for. */
const FOR_EVER = '3600'

const folder = ownFolder()
let model: string
const running: Running[] = []
const servers: Server[] = []

beforeAll(async () => {
  model = join(folder, 'tiny')
  await writeRepository(tinyRepository(), model)
})
afterAll(async () => {
  await Promise.all(running.map((process) => process.stop()))
  for (const server of servers) server.close().closeAllConnections()
})

interface Served {
  readonly process: Running
  readonly port: number
}

const options = () => ['--model', model, '--device', 'cpu', '--port', '0']
async function listening(process_: Running): Promise<Served> {
  running.push(process_)
  const url = await printed(process_, /url\s+(http:\S+)/)
  return { process: process_, port: Number(new URL(url).port) }
}
const served = (...args: string[]) => listening(start(process.execPath, [PROGRAM, 'serve', ...options(), ...args]))

/** It may be listened on again. */
async function expectFree(port: number): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  await new Promise((resolve) => server.close(resolve))
}

function head(port: number, line: string, ...headers: string[]): string {
  return [line, `Host: 127.0.0.1:${port}`, ...headers, '', ''].join('\r\n')
}

/** A `/v1` that begins an answer and never goes on. */
async function stuckUpstream(): Promise<string> {
  const server = createHttpServer((request, response) => {
    if (request.url === '/v1/models') {
      response.end(JSON.stringify({ data: [{ id: 'stuck/model' }] }))
      return
    }
    request.resume()
    const delta = { choices: [{ index: 0, delta: { role: 'assistant', content: 'Begun' }, finish_reason: null }] }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'model', ...delta })}\n\n`,
    )
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** A stream that has begun and never ends. */
async function stuckStream(port: number): Promise<RawConnection> {
  const connection = await rawConnection(port)
  const body = JSON.stringify({
    model: 'stuck/model',
    stream: true,
    messages: [{ role: 'user', content: 'Go on for ever.' }],
  })
  const headers = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  connection.write(head(port, 'POST /v1/chat/completions HTTP/1.1', ...headers) + body)
  while (!connection.rest().includes('Begun')) await new Promise((resolve) => connection.socket.once('data', resolve))
  return connection
}

describe('local-v1 serve ends at a signal', () => {
  it('and does not wait for clients that have sent nothing, half of the headers or half a body, or are between requests', async () => {
    const { process: server, port } = await served('--grace', FOR_EVER)
    const [silent, halfHead, halfBody, idle] = [
      await rawConnection(port),
      await rawConnection(port),
      await rawConnection(port),
      await rawConnection(port),
    ]
    halfHead.write('GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1')
    halfBody.write(
      `${head(port, 'POST /v1/chat/completions HTTP/1.1', 'Content-Type: application/json', 'Content-Length: 1000')}{"mod`,
    )
    idle.write(head(port, 'GET /v1/models HTTP/1.1'))
    // Answered after the others were accepted.
    expect((await idle.answer()).status).toBe(200)
    await server.stop('SIGTERM')
    expect((await server.exit).code).toBe(0)
    await Promise.all([silent, halfHead, halfBody, idle].map(({ closed }) => closed))
    await expectFree(port)
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'and cuts off an answer that takes longer than the grace period, says so and counts it: %s',
    async (signal) => {
      const [ledger, responses] = [join(folder, `${signal}.jsonl`), join(folder, signal)]
      const { process: server, port } = await served(
        ...['--grace', '0.1', '--upstream', await stuckUpstream(), '--usage-file', ledger, '--responses', responses],
      )
      const stream = await stuckStream(port)
      const background = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'stuck/model', input: 'Go on for ever.', background: true }),
      })
      const { id } = (await background.json()) as { id: string }
      await server.stop(signal)
      expect((await server.exit).code).toBe(0)
      await stream.closed
      expect(stream.rest()).toMatch(/data: {"error":.*"code":"closing"/)
      await expectFree(port)
      const counted = (await readFile(ledger, 'utf8')).trim().split('\n')
      expect(counted.map((line) => JSON.parse(line))).toMatchObject(
        Array.from({ length: 2 }, () => ({ model: 'stuck/model', outcome: 'error' })),
      )
      const kept = JSON.parse(await readFile(join(responses, `${id}.json`), 'utf8'))
      expect(kept.response).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
    },
  )

  it('and at once at the second one', async () => {
    const { process: server, port } = await served('--grace', FOR_EVER, '--upstream', await stuckUpstream())
    const stream = await stuckStream(port)
    // npm passes on a signal that has come already: one that comes with it is no second one.
    process.kill(server.pid, 'SIGINT')
    process.kill(server.pid, 'SIGTERM')
    await printed(server, /(A second signal stops at once)/)
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(stream.rest()).toContain('Begun')
    await server.stop('SIGTERM')
    expect((await server.exit).code).toBe(143)
    await stream.closed
  })

  it('while its model is still on its way', async () => {
    const silent = createHttpServer(() => {})
    servers.push(silent)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/model`
    const requested = new Promise((resolve) => silent.once('request', resolve))
    const server = start(process.execPath, [PROGRAM, 'serve', '--model', address, '--device', 'cpu', '--port', '0'])
    running.push(server)
    await requested
    await server.stop('SIGTERM')
    expect(server.output()).not.toContain('error')
    expect((await server.exit).code).toBe(0)
  })
})

describe('Ctrl-C, while a model is on its way', () => {
  it.each([
    ['chat', 'Hello'],
    ['extract', 'schema.json', 'schema.json'],
    ['decide', 'Is it?'],
  ])('ends local-v1 %s, and is no fault of the program', async (...command) => {
    await writeFile(join(folder, 'schema.json'), JSON.stringify(SCHEMA))
    const silent = createHttpServer(() => {})
    servers.push(silent)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/model`
    const requested = new Promise((resolve) => silent.once('request', resolve))
    const shell = ['-c', 'exec "$0" "$@" < schema.json', process.execPath, PROGRAM, ...command]
    const each = start('sh', [...shell, '--model', address, '--device', 'cpu'], { NO_COLOR: '1' }, { cwd: folder })
    running.push(each)
    await requested
    await each.stop('SIGINT')
    expect(each.output()).toMatch(/^error: Stopped\.$/m)
    expect(each.output()).not.toMatch(/^ +at /m)
    expect((await each.exit).code).toBe(130)
  })
})

describe.skipIf(process.platform === 'win32')('local-v1 serve --responses', () => {
  const { BUN } = process.env

  // A socket's name is shorter than the path of a folder may be.
  const places = ['kept', join('l'.repeat(120), 'kept')]
  it.each(places)(
    'leaves the folder to the server that has it, and takes it over from one that was killed: %s',
    async (place) => {
      const args = ['--responses', join(folder, place)]
      const first = await served(...args)
      // Each user of a machine may have a folder of its own for what is temporary.
      const own = await mkdtemp(join(folder, 'tmp-'))
      for (const runtime of [process.execPath, ...(BUN ? [BUN] : []), process.execPath]) {
        const second = start(runtime, [PROGRAM, 'serve', ...options(), ...args], { TMPDIR: own })
        running.push(second)
        expect((await second.exit).code).toBe(1)
        expect(second.output()).toMatch(/^error: The folder .*kept of --responses is used by another local-v1/m)
      }
      expect((await readdir(own)).filter((name) => name.startsWith('local-v1-'))).toEqual([])
      await first.process.stop('SIGKILL')
      for (const end of ['SIGTERM', 'SIGKILL'] as const) await (await served(...args)).process.stop(end)
    },
  )

  it('stores nothing in a folder that was made anew and that another has by now, and says so', async () => {
    const place = join(folder, 'anew')
    const first = await served('--responses', place)
    await rm(place, { recursive: true })
    const second = await served('--responses', place)
    const respond = async ({ port }: Served) => {
      const { data } = await (await fetch(`http://127.0.0.1:${port}/v1/models`)).json()
      return fetch(`http://127.0.0.1:${port}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: data[0].id, input: 'Hi', max_output_tokens: 16 }),
      })
    }
    const [one, other] = [await respond(first), await respond(second)]
    expect([one.status, other.status]).toEqual([200, 200])
    const { id } = (await other.json()) as { id: string }
    expect((await readdir(place)).sort()).toEqual([expect.stringMatching(/^\.server-1-/), `${id}.json`])
    expect(first.process.output()).toMatch(/could not be stored.*is used by another local-v1 that runs/s)
  })
})

describe('local-v1 serve --timeout', () => {
  it('ends an answer that takes longer, in its stream, and goes on serving', async () => {
    const { port, process: server } = await served('--upstream', await stuckUpstream(), '--timeout', '1')
    const stream = await stuckStream(port)
    while (!stream.rest().includes('"timeout"')) await new Promise((resolve) => stream.socket.once('data', resolve))
    expect(stream.rest()).toMatch(/data: {"error":.*"code":"timeout"/)
    expect((await fetch(`http://127.0.0.1:${port}/v1/models`)).status).toBe(200)
    await server.stop('SIGTERM')
  })
})

describe.skipIf(process.platform === 'win32')('npm start', () => {
  const npm = (group: boolean) => {
    const root = fileURLToPath(new URL('..', import.meta.url))
    return listening(start('npm', ['--prefix', root, 'start', '--', ...options()], {}, { group }))
  }

  it.each(['SIGTERM', ...(process.platform === 'linux' ? ['SIGKILL'] : [])] as NodeJS.Signals[])(
    'leaves no server behind when npm is ended by %s',
    async (signal) => {
      const { process: started, port } = await npm(false)
      // Its output is open until the last of its children has gone.
      await started.stop(signal)
      await expectFree(port)
    },
  )

  it('ends by Ctrl-C, which everyone in the terminal hears', async () => {
    const { process: started, port } = await npm(true)
    await started.stop('SIGINT')
    expect(started.output()).toContain('Running answers have')
    await expectFree(port)
  })
})
