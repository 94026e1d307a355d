/** Run by Deno: says what GPU it has and what it was given. */
declare const Deno: { readonly args: readonly string[] }

const adapter = await navigator.gpu.requestAdapter()
console.log(`adapter: ${adapter?.info.description}`)
console.log(`args: ${JSON.stringify(Deno.args)}`)

export {}
