/** The archive: Node, Dawn, libraries that a bare machine may lack, and everything of ours as plain scripts. */
import { execFile } from 'node:child_process'
import { chmod, copyFile, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import { throughDoors } from '../../scripts/through-doors.js'
import { unpack } from '../../test/support/unpack.js'
import { version } from '../version.js'
import { TEST_FILES } from './plan.js'

const run = promisify(execFile)
const compressed = promisify(gzip)
const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../..')
const NAME = 'local-v1-kit'

/** What Node, Dawn and NVIDIA's drivers load, and containers often lack: taken along where the packing machine has them. */
const SPARE = [
  'libstdc++.so.6',
  'libgcc_s.so.1',
  'libGLdispatch.so.0',
  'libEGL.so.1',
  'libGLX.so.0',
  'libX11.so.6',
  'libXext.so.6',
  'libxcb.so.1',
  'libXau.so.6',
  'libXdmcp.so.6',
  'libbsd.so.0',
  'libmd.so.0',
]

export async function pack(out: string): Promise<{ file: string; bytes: number }> {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('The kit takes along this Node and its libraries: pack it on Linux on x64.')
  const work = await mkdtemp(join(tmpdir(), 'local-v1-kit-'))
  try {
    const folder = join(work, NAME)
    await mkdir(join(folder, 'spare'), { recursive: true })
    await copyFile(process.execPath, join(folder, 'node'))
    await copyFile(join(here, 'run.sh'), join(folder, 'run.sh'))
    await chmod(join(folder, 'run.sh'), 0o755)
    await cp(join(root, 'models/nano'), join(folder, 'nano'), {
      recursive: true,
      filter: (path) => !/\/(recipe|eval)$/.test(path),
    })
    await takeDawn(join(folder, 'node_modules/webgpu'))
    await takeLibraries(join(folder, 'spare'))
    await bundleScripts(folder)
    const file = join(out, `${NAME}.tar.gz`)
    const bytes = await archived('-C', work, NAME)
    await writeFile(file, bytes)
    return { file, bytes: bytes.length }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** What tar is told to take, compressed by Node, in three quarters of gzip's time. */
export async function archived(...what: string[]): Promise<Buffer> {
  return compressed((await run('tar', ['-c', ...what], { encoding: 'buffer', maxBuffer: 1e9 })).stdout)
}

async function takeDawn(to: string): Promise<void> {
  const from = dirname(createRequire(import.meta.url).resolve('webgpu/package.json'))
  for (const path of ['package.json', 'index.js', 'LICENSE.md', 'dist/linux-x64/dawn.node']) {
    await mkdir(dirname(join(to, path)), { recursive: true })
    await copyFile(join(from, path), join(to, path))
  }
}

async function takeLibraries(to: string): Promise<void> {
  const { stdout } = await run('/sbin/ldconfig', ['-p']).catch(() => ({ stdout: '' }))
  const installed = (name: string) =>
    stdout
      .split('\n')
      .find((line) => line.trim().startsWith(`${name} `) && line.includes('x86-64'))
      ?.split('=> ')[1]
  for (const name of SPARE) {
    const path = installed(name)
    if (path !== undefined) await copyFile(path, join(to, name))
  }
  // A loader that is as old as the oldest distribution runs everywhere.
  await copyFile(join(await unpack('swiftshader'), 'libvulkan.so.1'), join(to, 'libvulkan.so.1'))
}

/** One chunk for what they share: a test file and what runs it must have the same registry of tests. */
async function bundleScripts(outdir: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: {
      main: 'bench/kit/main.ts',
      child: 'bench/kit/child.ts',
      ...Object.fromEntries(TEST_FILES.map((path, i) => [`test-${i}`, path])),
    },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifyWhitespace: true,
    keepNames: true,
    external: ['webgpu'],
    define: { __KIT_VERSION__: JSON.stringify(version) },
    // CommonJS packages in the bundle ask for Node's modules.
    banner: {
      js: "import { createRequire as __require } from 'node:module';const require = __require(import.meta.url);",
    },
    plugins: [standIns, throughDoors()],
    logLevel: 'error',
  })
  await writeFile(join(outdir, 'package.json'), '{"type":"module"}\n')
}

/** In the kit, vitest is its runner alone, and the software GPU of our tests is the GPU of the machine. */
const standIns: Plugin = {
  name: 'stand-ins',
  setup({ onResolve }) {
    onResolve({ filter: /^vitest$/ }, () => ({ path: join(here, 'vitest.ts') }))
    onResolve({ filter: /\/swiftshader\.js$/ }, () => ({ path: join(here, 'gpu.ts') }))
  },
}
