/** A run in a real Deno. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BenchOrder } from '../../src/bench/elsewhere.js'
import type { BenchReport } from '../../src/bench/report.js'
import { bundle } from '../../test/support/bundle.js'
import { denoPath } from '../../test/support/deno.js'

const FLAGS = ['--no-remote', '--no-lock', '--no-config', '--no-prompt', '--allow-read', '--allow-sys', '--allow-env']

export async function benchInDeno(order: BenchOrder): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), 'local-v1-bench-'))
  try {
    await writeFile(join(folder, 'main.mjs'), await bundle('bench/deno/main.ts'))
    const run = promisify(execFile)(denoPath(), ['run', ...FLAGS, join(folder, 'main.mjs'), JSON.stringify(order)], {
      env: { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
      maxBuffer: 2 ** 26,
    })
    run.child.stderr?.pipe(process.stderr)
    return JSON.parse((await run).stdout) as BenchReport
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
