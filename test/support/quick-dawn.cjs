/**
 * Dawn over a GPU in software, in less time. Loaded by `node --require` before all else, or by a test into its own
 * process: it is CommonJS because workers too are given what is required first.
 */
const Module = require('node:module')

/**
 * While something is awaited of it, Dawn looks again with every `setImmediate`: a core that turns in a circle, of the two
 * that would compute it. Looked for once a millisecond, it comes as soon.
 */
function lookSeldom() {
  const { setImmediate, setTimeout } = globalThis
  // Dawn's own function has neither a name nor a text.
  const isOfDawn = (call) =>
    typeof call === 'function' && call.name === '' && /\[native code\]/.test(Function.prototype.toString.call(call))
  const seldom = (call, ...given) => (isOfDawn(call) ? setTimeout(call, 1) : setImmediate(call, ...given))
  globalThis.setImmediate = Object.assign(seldom, setImmediate)
}

const ENABLES = 'enable-dawn-features='

/** Whoever opens Dawn from here on has these features too, which spare SwiftShader work. */
function openWith(features) {
  const load = Module._extensions['.node']
  Module._extensions['.node'] = (module, path) => {
    load(module, path)
    if (!/[\\/]dawn\.node$/.test(path)) return
    const { create } = module.exports
    // Of two flags of one name Dawn takes the last.
    module.exports.create = (flags = []) => {
      const asked = flags.filter((flag) => flag.startsWith(ENABLES)).map((flag) => flag.slice(ENABLES.length))
      const others = flags.filter((flag) => !flag.startsWith(ENABLES))
      return create([...others, ENABLES + [...asked, ...features].join(',')])
    }
  }
}

module.exports = { lookSeldom, openWith }

const { LOCAL_V1_DAWN_FEATURES: named } = process.env
if (named !== undefined) {
  lookSeldom()
  openWith(named.split(',').filter((name) => name !== ''))
}
