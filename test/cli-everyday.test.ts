import { execFileSync } from 'node:child_process'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { headers } from '../src/cli/doctor.js'
import { tryRevectorize } from '../src/device/cpu/index.js'
import { revectorizeRefusal } from '../src/device/cpu/revectorize.js'
import { CATALOG } from '../src/models/catalog.js'
import { PROGRAM, SCHEMA } from './support/cli.js'
import { denoPath } from './support/deno.js'
import { ownFolder } from './support/own-folder.js'
import { printed, type Running, start } from './support/spawn.js'

const folder = ownFolder()
const running: Running[] = []
afterAll(() => Promise.all(running.map((each) => each.stop())))

function cli(...args: string[]): Running {
  const each = start(process.execPath, [PROGRAM, ...args], { NO_COLOR: '1' })
  running.push(each)
  return each
}

async function ended(...args: string[]): Promise<{ code: number | null; output: string }> {
  const each = cli(...args)
  return { code: (await each.exit).code, output: each.output() }
}

async function file(name: string, value: unknown): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

describe('local-v1 doctor', () => {
  it('says what would run, having run it', async () => {
    const { code, output } = await ended('doctor', '--json', '--cache', join(folder, 'models'))
    const findings = JSON.parse(output.slice(output.indexOf('['), output.lastIndexOf(']') + 1)) as {
      what: string
      state: string
      says: string
    }[]
    const report = Object.fromEntries(findings.map(({ what, says }) => [what, says]))
    expect(report.program).toContain(`Node ${process.versions.node}`)
    expect(report.device).toMatch(/^(cpu|webgpu) \(.+\)/)
    expect(report.answer).toBe('local-v1/nano answers')
    const vectors = revectorizeRefusal()
      ? `of 128 bits, as those of 256 need ${revectorizeRefusal()}`
      : expect.stringMatching(/^of 256 bits .* first quiet second, .* experiment|^of 128 bits, .* no quicker here$/)
    expect(report.vectors).toEqual(vectors)
    expect(code).toBe(findings.some(({ state }) => state === 'bad') ? 1 : 0)
  })

  it.each([['Deno', denoPath(), 'run', '-A'], ...(process.env.BUN ? [['Bun', process.env.BUN]] : [])] as [
    name: string,
    program: string,
    ...args: string[],
  ][])('calls %s by its name', async (name, program, ...args) => {
    const other = start(program, [...args, PROGRAM, 'doctor'], { NO_COLOR: '1' })
    running.push(other)
    await other.exit
    expect(other.output()).toMatch(new RegExp(`program +local-v1 \\S+, ${name} \\d`))
    expect(other.output()).toMatch(name === 'Deno' ? /webgpu +is part of this runtime/ : /webgpu +(not|the package)/)
  })

  it('says what the headers of a page allow', async () => {
    const isolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' }
    const server = createServer((request, response) => {
      const strict = { 'content-security-policy': "default-src 'self'" }
      response.writeHead(200, request.url === '/strict' ? strict : isolated).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const isolates = { what: 'page', state: 'ok', says: expect.stringMatching(/^is cross-origin isolated/) }
    expect(await headers(`${origin}/`)).toContainEqual(isolates)
    const strict = await ended('doctor', '--url', `${origin}/strict`)
    expect(strict.output).toMatch(/page +is not cross-origin isolated: the CPU device has one thread/)
    expect(strict.output).toMatch(/BAD page +does not allow WebAssembly: add 'wasm-unsafe-eval'/)
    expect(strict.code).toBe(1)
    server.close()
    expect((await ended('doctor', '--url', `${origin}/`)).output).toMatch(/cannot be reached: .*ECONNREFUSED/)
  })
})

describe('--revectorize', () => {
  const refusal = revectorizeRefusal()
  const lack = refusal ? ` (needs ${refusal})` : ''

  it.runIf(refusal)('is refused where it cannot be had, before anything is loaded', async () => {
    const config = await file('wide.json', { serve: { revectorize: true, port: 0 } })
    for (const args of [
      ['serve', '--port', '0', '--revectorize'],
      ['--config', config, 'serve'],
      ['bench', '--revectorize'],
    ]) {
      const { code, output } = await ended(...args)
      expect(output).toMatch(
        /^error: \w+: 'revectorize' needs Node 24 to 26 on x64 \(this is .+\)\. Use such a Node, or/,
      )
      expect(code).toBe(2)
    }
  })

  /** Of the server that was started last, once it is ready. */
  async function deviceName(): Promise<() => Promise<unknown>> {
    const url = await printed(running.at(-1)!, /url\s+(http:\S+)/)
    await printed(running.at(-1)!, /(try {5})/)
    return async () => {
      const list = (await (await fetch(`${url}/models`)).json()) as { data: { metadata: Record<string, unknown> }[] }
      expect(list.data[0]!.metadata).toMatchObject({ worker: true })
      return list.data[0]!.metadata.device_name
    }
  }

  it.skipIf(refusal)(`reaches the device, in its worker${lack}`, async () => {
    const config = await file('wide.json', { serve: { revectorize: true, port: 0, device: 'cpu' } })
    cli('--config', config, 'serve')
    const name = await deviceName()
    expect(await name()).toContain('in 256 bits')
  })

  it.skipIf(refusal)(
    `is tried in a quiet second where nothing is said of it, and may be forbidden${lack}`,
    async () => {
      cli('serve', '--port', '0', '--device', 'cpu')
      const usual = await deviceName()
      cli('serve', '--port', '0', '--device', 'cpu', '--no-revectorize')
      const never = await deviceName()
      const config = await file('never.json', { serve: { revectorize: false, port: 0, device: 'cpu' } })
      cli('--config', config, 'serve')
      const neverByFile = await deviceName()
      // Which hangs on the processor: where 256 bits are no quicker, all stay as they are.
      if (((await tryRevectorize()).gain ?? 0) > 1.2) await expect.poll(usual).toContain('in 256 bits')
      else await delay(3000)
      expect(await never()).not.toContain('256')
      expect(await neverByFile()).not.toContain('256')
    },
  )
})

describe('the configuration file', () => {
  it('sets options, which the command line goes before', async () => {
    const config = await file('good.json', { serve: { port: 0, device: 'cpu', playground: false, 'max-in-flight': 2 } })
    const process_ = cli('--config', config, 'serve')
    const url = await printed(process_, /url\s+(http:\S+)\/v1/)
    await printed(process_, /(try {5})/)
    expect((await fetch(`${url}/`)).status).toBe(404)
    const other = await ended('--config', config, 'serve', '--port', '70000')
    expect(other.output).toMatch(/whole number from 0 to 65535/)
  })

  it.each([
    [{ serve: { prot: 1 } }, /serve\.prot is not an option/],
    // With the mark that editors on Windows put before it.
    ['\ufeff{ "serve": { "prot": 1 } }', /serve\.prot is not an option/],
    [{ serve: { port: 70000 } }, /serve\.port: It must be a whole number/],
    [{ serve: { port: [1, 2] } }, /serve\.port takes one value/],
    [{ serve: { device: 'tpu' } }, /serve\.device: It must be one of auto, webgpu, cpu/],
    [{ serve: { responses: true } }, /serve\.responses must be a text/],
    [{ serve: { playground: 'no' } }, /serve\.playground must be true or false/],
    [{ serve: { cors: ['https://app.example/'] } }, /serve\.cors: It must be an origin/],
    [{ sevre: {} }, /'sevre' is not a command/],
    [{ serve: [] }, /'serve' must be an object/],
    [{ serve: { model: [] } }, /serve\.model is an empty list: give it a value, or leave it out/],
    [{ serve: { model: {} } }, /serve\.model must be a text/],
    [{ serve: { model: null } }, /serve\.model must be a text/],
    [{ serve: {}, models: [] }, /'models' must be an object/],
    [{ serve: {}, chat: null }, /'chat' must be an object/],
    ['{', /cannot be read/],
    ['[]', /must contain an object/],
  ])('is refused by name: %j', async (value, message) => {
    const { code, output } = await ended('--config', await file('bad.json', value), 'serve')
    expect(output).toMatch(message)
    expect(code).toBe(2)
  })
})

describe('a configuration file that was only found', () => {
  // Nobody listens there: that it was tried is seen, and the command ends.
  const UPSTREAM = 'http://127.0.0.1:9/v1'
  const CODE = { serve: { engine: 'webllm', webllm: './evil.mjs', lib: './evil.wasm', model: ['a/b'] } }
  let count = 0

  /** A folder with such a file, whose user has agreed to nothing yet. */
  async function found(value: unknown) {
    const name = `found-${count++}`
    const place = join(folder, name, 'here')
    await mkdir(place, { recursive: true })
    const write = (what: unknown) => file(`${name}/here/local-v1.json`, what)
    await write(value)
    const home = { HOME: join(folder, name), XDG_CONFIG_HOME: '', NO_COLOR: '1' }
    const command = (args: string) => `cd '${place}' && exec '${process.execPath}' '${PROGRAM}' ${args}`
    const run = async (program: string, args: string[], answer?: string) => {
      const each = start(program, args, home)
      running.push(each)
      if (answer !== undefined) {
        // The question itself ends no line.
        await printed(each, /(another server)/)
        each.write(answer)
      }
      return { code: (await each.exit).code, output: each.output() }
    }
    return {
      write,
      home: home.HOME,
      unattended: (args: string) => run('sh', ['-c', command(args)]),
      atTerminal: (args: string, answer?: string) => run('script', ['-qec', command(args), '/dev/null'], answer),
    }
  }

  it('neither loads code nor names a server where nobody can be asked', async () => {
    const code = await (await found(CODE)).unattended('serve')
    expect(code.output).toMatch(/webllm "\.\/evil\.mjs" loads code\n +lib "\.\/evil\.wasm" loads code\n/)
    expect(code.output).toMatch(/error: .*name the file: --config/)
    expect(code.code).toBe(2)
    const engine = await (await found({ serve: { engine: 'llama-cpp', model: ['./m.gguf'] } })).unattended('serve')
    expect(engine.output).toMatch(/engine "llama-cpp" loads code\n/)
    expect(engine.code).toBe(2)
    const server = await (await found({ bench: { upstream: UPSTREAM } })).unattended('bench')
    expect(server.output).toMatch(/upstream "http:.+" may send what you write to another server/)
    expect(server.code).toBe(2)
    const model = await (await found({ serve: { model: ['https://a.example/m.gguf'] } })).unattended('serve')
    expect(model.output).toMatch(/model \["https:.+"\] loads from a server/)
    expect(model.code).toBe(2)
  })

  it('may where it is named, or where the command line says the same', async () => {
    const here = await found({ serve: { upstream: UPSTREAM, port: 0 } })
    for (const args of ['--config local-v1.json serve', `serve --upstream ${UPSTREAM}`]) {
      const { output } = await here.unattended(args)
      expect(output).toMatch(/cannot be reached/)
      expect(output).not.toMatch(/was found in this folder/)
    }
  })

  it('is not asked about what is only a setting, or another command’s', async () => {
    const here = await found({ serve: { upstream: UPSTREAM }, models: {}, doctor: { json: true } })
    expect((await here.unattended('models catalog')).code).toBe(0)
  })

  // `script`, of util-linux, is the terminal.
  it.runIf(process.platform === 'linux')('is asked about once, until it changes', async () => {
    const here = await found({ serve: { upstream: UPSTREAM, port: 0 } })
    const no = await here.atTerminal('serve', '')
    expect(no.output).toMatch(/Not confirmed/)
    expect(no.code).toBe(2)
    expect((await here.atTerminal('serve', 'y')).output).toMatch(/cannot be reached/)
    expect((await stat(join(here.home, '.config/local-v1/agreed.json'))).mode & 0o777).toBe(0o600)
    const again = await here.unattended('serve')
    expect(again.output).toMatch(/cannot be reached/)
    expect(again.output).not.toMatch(/was found/)
    await here.write({ serve: { upstream: `${UPSTREAM}/other`, port: 0 } })
    expect((await here.unattended('serve')).code).toBe(2)
  })
})

describe('local-v1 completion', () => {
  /** What bash itself makes of the words so far. */
  function completed(...words: string[]): string[] {
    const script = [
      `eval "$(${process.execPath} ${PROGRAM} completion bash)"`,
      `COMP_WORDS=(local-v1 ${words.map((word) => `'${word}'`).join(' ')})`,
      `COMP_CWORD=${words.length}`,
      '_local_v1',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash's
      'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    return execFileSync('bash', ['-c', script.join('\n')], { encoding: 'utf8' })
      .trim()
      .split('\n')
  }

  it('completes commands, options and choices in bash', () => {
    expect(completed('ser')).toEqual(['serve'])
    expect(completed('models', 'p')).toEqual(['pull'])
    expect(completed('serve', '--max')).toEqual(['--max-in-flight'])
    expect(completed('serve', '--device', '')).toEqual(['auto', 'webgpu', 'cpu'])
    expect(completed('models', 'list', '--j')).toEqual(['--json'])
    // Each command's own: `bench --engine` has fewer choices, and its `--json` takes a file.
    expect(completed('serve', '--engine', '')).toEqual(['webgpu', 'webllm', 'llama-cpp'])
    expect(completed('models', 'list', '--json', '--c')).toEqual(['--cache'])
  })

  it('knows zsh and fish, and no other', async () => {
    expect((await ended('completion', 'zsh')).output).toContain('bashcompinit')
    expect((await ended('completion', 'fish')).output).toMatch(/^complete -c local-v1 .*-l max-in-flight/m)
    expect((await ended('completion', 'tcsh')).code).toBe(2)
  })
})

describe('local-v1 models catalog', () => {
  it('prints every model to begin with, by the name that serve takes', async () => {
    const { code, output } = await ended('models', 'catalog')
    expect(code).toBe(0)
    for (const { from, licence } of CATALOG) expect(output).toMatch(new RegExp(`^${from}\\n.*\\n.*${licence}$`, 'm'))
    expect(JSON.parse((await ended('models', 'catalog', '--json')).output)).toEqual(CATALOG)
  })
})

describe('local-v1 models list --json', () => {
  it('tells ids and bytes to programs', async () => {
    const each = cli('models', 'list', '--json', '--cache', join(folder, 'none'))
    await each.exit
    const rows = JSON.parse(each.output()) as { id: string; bytes: number; state: string }[]
    expect(rows[0]).toMatchObject({ id: 'local-v1/nano', state: 'embedded' })
    expect(rows[0]?.bytes).toBeGreaterThan(1e6)
  })
})

describe('a conversation in the terminal', () => {
  it('needs one: where nothing is said and nothing comes, there is an error', async () => {
    for (const input of ['', '\n']) {
      const each = start('sh', ['-c', `printf '${input}' | '${process.execPath}' '${PROGRAM}' chat --device cpu`])
      running.push(each)
      expect((await each.exit).code).toBe(2)
      expect(each.output()).toMatch(/error: Give a message, or send it on standard input/)
    }
  })

  it('obeys lines that begin with a slash, and tells the pace', async () => {
    const terminal = 'data:text/javascript,process.stdin.isTTY=process.stderr.isTTY=true'
    const each = start(process.execPath, ['--import', terminal, PROGRAM, 'chat', '--device', 'cpu'], {
      NO_COLOR: '1',
      TERM: 'dumb',
    })
    running.push(each)
    const says = async (line: string, pattern: RegExp) => {
      each.write(line)
      return printed(each, pattern)
    }
    await printed(each, /(\/help lists the commands)/)
    await says('/help', /(\/temperature <number>)/)
    await says('/nothing', /(There is no \/nothing)/)
    await says('/temperature 9', /(must be a number from 0 to 2)/)
    await says('/temperature 0', /(Temperature 0\.)/)
    await says('/system Be brief.', /(Understood\.)/)
    await says('Hello', /(\d+ tokens.*the first after \d+ ms)/)
    await says(`/schema ${await file('schema.json', SCHEMA)}`, /(Answers are JSON that satisfies)/)
    await says('Say something.', /(\{"word":".*"\})/)
    await says(`/schema ${join(folder, 'none.json')}`, /(cannot be read)/)
    const talk = join(folder, 'talk.json')
    await says(`/save ${talk}`, /(Saved to)/)
    const roles = (JSON.parse(await readFile(talk, 'utf8')) as { role: string }[]).map(({ role }) => role)
    expect(roles).toEqual(['system', 'user', 'assistant', 'user', 'assistant'])
    await says('/undo', /(are removed)/)
    await says('/clear', /(A new conversation begins)/)
    each.write('/exit')
    expect((await each.exit).code).toBe(0)
  })
})
