/** Runs every call of one client, one after another, and prints what became of each as a line of JSON. */
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: { nano: { type: 'string' }, scripted: { type: 'string' }, key: { type: 'string' } },
  allowPositionals: true,
})
/** `limit`: milliseconds that one of its calls may take, where that is more than usual. */
const { calls, limit = 60_000 } = await import(new URL(positionals[0], import.meta.url))
for (const [name, call] of Object.entries(await calls(values))) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${limit} ms.`)), limit)
  })
  try {
    const result = await Promise.race([call(), late])
    console.log(
      JSON.stringify({ name, worked: true, result: typeof result === 'string' ? result : JSON.stringify(result) }),
    )
  } catch (error) {
    console.log(JSON.stringify({ name, worked: false, result: error?.message ?? String(error) }))
  }
  clearTimeout(timer)
}
// Some clients leave timers and sockets behind.
process.exit(0)
