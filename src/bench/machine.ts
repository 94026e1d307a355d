/** What the figures were taken on, in Node, Deno and browsers. */
import { builtin, runtimeName } from '../platform/index.js'
import type { BenchReport } from './report.js'

type Facts = Record<string, string | number | boolean>

export async function machine(): Promise<BenchReport['machine']> {
  const os = builtin<typeof import('node:os')>('node:os')
  if (os === undefined) return browser()
  const cpus = os.cpus()
  return {
    runtime: runtimeName(),
    system: `${os.platform()} ${os.release()} ${os.arch()}`,
    processor: cpus[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism?.() ?? cpus.length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    // Programs that wanted a core while this began: more than a few hundredths disturbs every figure.
    load: Number(os.loadavg()[0]!.toFixed(2)),
  }
}

interface BrowserNavigator {
  readonly userAgent: string
  readonly hardwareConcurrency: number
  readonly deviceMemory?: number
}

function browser(): Facts {
  const { userAgent, hardwareConcurrency, deviceMemory } = navigator as unknown as BrowserNavigator
  return {
    runtime: userAgent,
    cores: hardwareConcurrency,
    isolated: (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === true,
    ...(deviceMemory !== undefined && { memoryGiB: deviceMemory }),
  }
}

/** Bytes that this process holds; undefined in a browser, which does not say. */
export function processBytes(): number | undefined {
  const { process } = globalThis as { process?: { memoryUsage?(): { rss: number } } }
  return process?.memoryUsage?.().rss
}
