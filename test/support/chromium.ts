import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { overlaid } from './overlaid.js'
import { DAWN_FLAGS } from './swiftshader.js'
import { unpack } from './unpack.js'

export interface ChromiumOptions {
  /** Added to the command line. */
  args?: readonly string[]
  /** @default true */
  webgpu?: boolean
}

/**
 * A real Chromium, headless, with WebGPU in software. Close it when done. It serves a page, its workers and its
 * service workers; `http://localhost` and `http://127.0.0.1` are secure contexts, other plain http origins are not.
 */
export async function launchChromium(options: ChromiumOptions = {}): Promise<Browser> {
  return chromium.launch(await chromiumProgram(options))
}

/** The same with a profile in a folder: what a browser keeps only in memory has narrower limits. */
export async function launchChromiumIn(folder: string, options: ChromiumOptions = {}): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, await chromiumProgram(options))
}

let shared: Promise<Browser> | undefined

/**
 * A Chromium without WebGPU, one for all files of tests that a process runs: to start one takes as long as many a test.
 * Each has visitors (contexts) of its own, which `close` ends.
 */
export async function sharedChromium(): Promise<Browser> {
  const found = await shared
  if (found?.isConnected()) return lent(found)
  // Whoever ends this process ends the browser too, of which Playwright would only close the pages.
  if (!found) process.once('SIGTERM', () => process.exit())
  shared = chromiumProgram({ webgpu: false }).then((program) => chromium.launch({ ...program, handleSIGTERM: false }))
  return lent(await shared)
}

/** The browser of which its borrower closes what is its own. */
function lent(browser: Browser): Browser {
  const contexts = new Set<BrowserContext>()
  const newContext: Browser['newContext'] = async (options) => {
    const context = await browser.newContext(options)
    contexts.add(context)
    context.once('close', () => contexts.delete(context))
    return context
  }
  const newPage: Browser['newPage'] = async (options) => {
    const context = await newContext(options)
    const page = await context.newPage()
    page.once('close', () => void context.close())
    return page
  }
  const close = async () => {
    await Promise.all([...contexts].map((context) => context.close()))
  }
  return overlaid(browser, { newContext, newPage, close })
}

async function chromiumProgram(options: ChromiumOptions) {
  return {
    ...(await installed()),
    args: [
      '--headless=shell',
      '--no-sandbox',
      ...(options.webgpu === false ? [] : ['--enable-unsafe-webgpu', ...DAWN_FLAGS.map((flag) => `--${flag}`)]),
      ...(options.args ?? []),
    ],
  }
}

/** The unpacked one, or the Chromium or Chrome that LOCAL_V1_CHROMIUM names: one that reaches a GPU, say. */
async function installed() {
  const own = process.env.LOCAL_V1_CHROMIUM
  if (own) return { executablePath: own, env: stringEnv() }
  const folder = await unpack('chromium')
  return {
    executablePath: join(folder, 'chromium'),
    env: {
      ...stringEnv(),
      LD_LIBRARY_PATH: `${join(folder, 'lib')}:${folder}`,
      VK_ICD_FILENAMES: join(folder, 'vk_swiftshader_icd.json'),
    },
  }
}

function stringEnv(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]))
}
