#!/usr/bin/env node
import modules from 'node:module'
import process from 'node:process'
import { Argument, Command, CommanderError, Option } from 'commander'
import { V1Error } from '../contract/index.js'
import { startWorkerAhead } from '../engines/index.js'
import { CACHE_TYPE_CHOICES, CACHE_TYPE_HELP, VERBOSE } from '../platform/index.js'
import { aliases, collect, count, decimal, keys, notEmpty, origins, size } from './arguments.js'
import { withBench, withUpstream } from './bench-options.js'
import { completion, SHELLS, type Shell } from './completion.js'
import { withConfiguration } from './configuration.js'
import { REVECTORIZE } from './engine-options.js'
import { Fault } from './fault.js'
import { note, paint } from './terminal.js'

/** Set by the build. */
declare const __VERSION__: string

// From Node 22.8 on, what V8 made of the commands is kept in the system's temporary folder.
const { enableCompileCache } = modules as { enableCompileCache?: () => unknown }
enableCompileCache?.()

// A reader that has seen enough (`local-v1 models list | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  // A full disk: nobody's fault here, and no answer to what was asked.
  note(paint('red', `error: The output cannot be written: ${error.message}`))
  process.exit(1)
})

// Nobody hears any more; what is left to do is done all the same.
process.stderr.on('error', () => {})

/** The same for every command that runs or plans a model of our own core. */
const cacheTypeOption = () =>
  new Option(
    '--cache-type <type>',
    `how to store keys and values: ${CACHE_TYPE_HELP} (default: what the model's files say, else auto for a download on the CPU, else f16)`,
  ).choices(CACHE_TYPE_CHOICES)

/** The options that choose what answers, the same for every command that runs a model. */
function withEngine(command: Command): Command {
  return command
    .option(
      '-m, --model <id>',
      'a model to offer: local-v1/nano, a Hugging Face id, ollama:NAME, a path; repeatable',
      collect,
    )
    .addOption(
      new Option('--engine <name>', 'what runs the models')
        .choices(['webgpu', 'webllm', 'llama-cpp'])
        .default('webgpu'),
    )
    .addOption(
      new Option('--device <name>', 'where they run; auto uses a real GPU, else the CPU')
        .choices(['auto', 'webgpu', 'cpu'])
        .default('auto'),
    )
    .option('--cache <folder>', 'the folder of downloaded models', notEmpty)
    .addOption(cacheTypeOption())
    .option(...REVECTORIZE)
    .option('--no-revectorize', 'not in a quiet moment either, which is the default: see doctor')
    .option('--draft <id>', 'a smaller model with the same vocabulary that guesses what the first --model will write')
    .option('--lib <file>', 'webllm: the compiled library for a --model that is not in its list')
    .option('--webllm <module>', 'webllm: the module of another version than the installed one')
}

function program(): Command {
  const root = new Command('local-v1')
    .description('An OpenAI-compatible /v1 on this machine: nothing you send leaves it.')
    .version(__VERSION__)
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(paint('red', text)) })
    .option('--verbose', 'show the output of GPU drivers and other native code')
  root.hook('preAction', () => {
    // Workers and whatever else is started here are told by it too.
    if (root.opts<{ verbose?: true }>().verbose) process.env[VERBOSE] = '1'
  })

  withEngine(root.command('serve'))
    .description('serve /v1 over HTTP')
    .option('-p, --port <number>', 'the port (8080, with --ollama 11434); 0 takes a free one', count(0, 65535))
    .option('--host <address>', 'the address to listen on', notEmpty, '127.0.0.1')
    .option('-k, --key <key>', 'a key that clients must send; other users of this machine can see it; repeatable', keys)
    .option('--key-file <file>', 'keys that clients must send, one per line; or set LOCAL_V1_KEY or LOCAL_V1_KEYS')
    .option('--cors <origin>', 'a web origin whose pages may send requests; repeatable', origins)
    .option(
      '--allow-host <name>',
      'a host name under which clients reach it through a proxy or tunnel; repeatable',
      collect,
    )
    .option('--alias <name=id>', 'another name for a model: gpt-4o-mini=local-v1/nano; repeatable', aliases)
    .option('--usage-file <file>', 'keep the usage ledger in this file', notEmpty)
    .option(
      '--responses <folder>',
      'keep responses in this folder, also after the server ends (default: in memory)',
      true,
    )
    .option('--no-responses', 'keep responses only if a request says store: true')
    .option('--upstream <url>', 'another /v1 for requests that this machine cannot answer (its key: UPSTREAM_API_KEY)')
    .option('--max-in-flight <number>', 'how many requests a model works on at once', count(1, 1000), 8)
    .option('--queue <number>', 'how many more requests may wait', count(0, 100_000), 100)
    .option('--timeout <seconds>', 'the longest time for a request; 0: no limit', count(0, 86_400), 600)
    .option('--stall <seconds>', 'how long a client may stop reading a stream; 0: no limit', count(0, 86_400), 30)
    .option('--grace <seconds>', 'how long running answers may take to finish after a signal', decimal(0, 3600), 4)
    .option(
      '--calibrated',
      'use fitted temperatures for decisions, unless a request says otherwise (local-v1 calibrate)',
    )
    .option('--ollama', "also serve Ollama's interface, for its clients")
    .option('--no-playground', 'do not show the playground at /')
    .addHelpText('after', EXAMPLES.serve)
    .action(async (options) => {
      if (options.engine === 'webgpu') startWorkerAhead()
      return (await import('./serve.js')).serveCommand(options)
    })

  withEngine(root.command('chat'))
    .description('talk to a model in the terminal')
    .argument('[text...]', 'the message; without it: a conversation (or the text on standard input)')
    .option('-s, --system <text>', 'instructions for the model')
    .option('--schema <file>', 'a JSON Schema that the answer must satisfy')
    .option('--max-tokens <number>', 'the most tokens in an answer', count(1, 1_000_000))
    .option('--temperature <number>', 'from 0 to 2', decimal(0, 2))
    .addHelpText('after', EXAMPLES.chat)
    .action(async (words: string[], options) => (await import('./chat.js')).chatCommand(words.join(' '), options))

  withEngine(root.command('decide'))
    .description('answer typed questions about the text on standard input, with the probability of each answer')
    .argument('[question...]', 'a question or statement; without --choice or --level the answer is yes or no')
    .option('--choice <text>', 'an option of the question; repeatable', collect)
    .option('--level <text>', 'a level of the question, the lowest first; repeatable', collect)
    .option('-q, --questions <file>', 'questions by name as JSON: { "spam": { "type": "predicate", ... }, ... }')
    .addOption(
      new Option('--order <which>', 'average reads the options in several orders').choices(['given', 'average']),
    )
    .option('--calibrated', 'use the temperature that local-v1 calibrate fitted for the model')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES.decide)
    .action(async (words: string[], options) => (await import('./decide.js')).decideCommand(words.join(' '), options))

  withEngine(root.command('extract'))
    .description('extract a JSON document from a text, by a JSON Schema or typed fields')
    .argument('<schema>', 'a JSON Schema, or fields by name: { "total": { "type": "number" }, ... }')
    .argument(
      '[files...]',
      'the text; without it, or as -, standard input; for several files, prints one line of JSON for each',
    )
    .option('--evidence', 'print how sure the model is of each value, and where the text says it; always on for fields')
    .option('--quote', 'every string is a word-for-word quote from the text')
    .option('--instructions <text>', 'what to do with the text')
    .option('--reference-date <date>', 'for fields: the day from which "tomorrow" is counted, YYYY-MM-DD')
    .option('--locale <tag>', 'for fields: the language of the text, which decides how 03/04/2026 and 1.250 are read')
    .option('--json', 'as JSON')
    .addHelpText('after', EXAMPLES.extract)
    .action(async (form: string, files: string[], options) =>
      (await import('./extract.js')).extractCommand(form, files, options),
    )

  withEngine(root.command('calibrate'))
    .description('fit a temperature on questions with known answers, for decisions with --calibrated')
    .requiredOption('--examples <path>', 'a .jsonl or .txt file of them, or a folder of such files')
    .addOption(new Option('--order <which>', 'the order of the options').choices(['given', 'average']).default('given'))
    .option('--svg <file>', 'write a diagram of how sure the model was and how often it was right')
    .option('--dry-run', 'do not save the temperature')
    .addHelpText('after', EXAMPLES.calibrate)
    .action(async (options) => (await import('./calibrate.js')).calibrate(options))

  withUpstream(withBench(root.command('bench')))
    .addHelpText('after', EXAMPLES.bench)
    .action(async (options) => {
      const { bench, benchOrder } = await import('./bench.js')
      await bench(options, benchOrder(options, __VERSION__))
    })

  withModels(root.command('models'))

  root
    .command('schema')
    .description('check JSON Schemas for strict answers')
    .command('check')
    .argument('<file>', 'a JSON Schema; - reads standard input')
    .description(
      'check whether a schema is enforced exactly, which parts are not and why, and its cost; exit code 1 if refused',
    )
    .option('-n, --examples <number>', 'how many random documents to print', count(0, 1000), 0)
    .option('--seed <number>', 'the same number prints the same documents again', count(0, 2 ** 32 - 1), 0)
    .option('--json', 'as JSON')
    .action(async (file: string, options) => (await import('./schema.js')).checkSchema(file, options))

  root
    .command('doctor')
    .description('check whether and how models can run on this machine')
    .option('--cache <folder>', 'the folder of downloaded models', notEmpty)
    .option('--url <page>', 'also check the headers of this page of yours')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./doctor.js')).doctor(options, __VERSION__))

  root
    .command('completion')
    .description('print a script for tab completion: eval "$(local-v1 completion bash)"')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .action((shell: Shell) => void process.stdout.write(completion(root, shell)))

  withConfiguration(root)
  return root
}

function withModels(models: Command): void {
  models.description('list, download, verify and remove models').addHelpText('after', EXAMPLES.models)
  const kept = (command: Command) => command.option('--cache <folder>', 'the folder of downloaded models', notEmpty)
  kept(models.command('list', { isDefault: true }))
    .description('list the models on this machine, also those of Ollama, LM Studio and Hugging Face')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./models.js')).listCommand(options))
  models
    .command('catalog')
    .description('list models to start with, one of each family: their memory and what they are good for')
    .option('--json', 'as JSON')
    .action(async (options) => (await import('./catalog.js')).showCatalog(options))
  kept(models.command('pull').argument('<name>', 'a Hugging Face model, as in serve'))
    .description('download a model')
    .action(async (id: string, options) => (await import('./models.js')).pull(id, options))
  kept(models.command('fits').argument('[names...]', 'models, as in serve; without names: all on this machine'))
    .description('check whether models would run here and how fast, without a download')
    .addOption(new Option('--device <name>', 'where').choices(['auto', 'webgpu', 'cpu']).default('auto'))
    .option('--context <tokens>', 'the longest context, in tokens', count(1, 10_000_000))
    .addOption(cacheTypeOption())
    .action(async (names: string[], options) => (await import('./models.js')).fitsCommand(names, options))
  kept(models.command('verify').argument('[names...]', 'models, as in serve; without names: all on this machine'))
    .description('compare files with the sizes and hashes that their sources publish')
    .action(async (names: string[], options) => (await import('./models.js')).verifyModels(names, options))
  kept(models.command('remove').argument('[id]', 'a Hugging Face id'))
    .description('delete a downloaded model, or the least recently used ones')
    .option('--least-used <size>', 'the least recently used ones, until this much is free: 2GB', size)
    .action(async (id: string | undefined, options) => {
      const { remove, removeLeastUsed } = await import('./models.js')
      if ((id === undefined) === (options.leastUsed === undefined)) {
        throw new Fault('Name the model to remove, or give --least-used with a size.')
      }
      await (id === undefined ? removeLeastUsed(options.leastUsed, options) : remove(id, options))
    })
}

const EXAMPLES = {
  serve: `
Examples:
  local-v1 serve                                     local-v1/nano on http://127.0.0.1:8080/v1, no key
  local-v1 serve -m mlc-ai/Qwen3-0.6B-q4f16_1-MLC    another model, downloaded on first use
  local-v1 serve -m ollama:qwen3:0.6b                a model from Ollama's folder (or lmstudio:...)
  local-v1 serve --engine webllm -m mlc-ai/Qwen3-0.6B-q4f16_1-MLC
                                                     with WebLLM (npm install @mlc-ai/web-llm webgpu)
  local-v1 serve --engine llama-cpp -m ./model.gguf  with llama.cpp (npm install node-llama-cpp)
  local-v1 serve --ollama                            for Ollama's clients, on Ollama's port
  LOCAL_V1_KEY=... local-v1 serve --host 0.0.0.0     for the network, with a key
  local-v1 serve --upstream https://cluster/v1       what this machine cannot answer goes to a cluster`,
  chat: `
Examples:
  local-v1 chat                                      a conversation
  local-v1 chat --schema book.json < review.txt      JSON from a text`,
  decide: `
Examples:
  local-v1 decide "Is it spam?" < mail.txt           yes or no, and how likely
  local-v1 decide "Which team?" --choice billing --choice tech < mail.txt
  local-v1 decide --questions questions.json --json < mail.txt`,
  extract: `
Examples:
  local-v1 extract schema.json mail.txt              a document, as JSON
  local-v1 extract schema.json mail.txt --evidence   each value, how sure, and where the text says it
  local-v1 extract schema.json *.txt > rows.jsonl    a line for each file
  local-v1 extract fields.json --reference-date 2026-11-25 < mail.txt`,
  calibrate: `
Examples:
  local-v1 calibrate -m ollama:qwen3:0.6b --examples tickets.jsonl --svg before-after.svg
  local-v1 decide -m ollama:qwen3:0.6b --calibrated "Is it spam?" < mail.txt
  local-v1 serve -m ollama:qwen3:0.6b --calibrated   for all requests`,
  bench: `
Examples:
  local-v1 bench                                     local-v1/nano here, in a minute or two
  local-v1 bench --device cpu --device webgpu        compare both devices
  local-v1 bench -m made-up/Llama-3.2-1B-like        how fast a model of that shape would be, without a download
  local-v1 bench --json bench.json --svg bench.svg   every value, and a chart`,
  models: `
Examples:
  local-v1 models list
  local-v1 models catalog
  local-v1 models pull mlc-ai/SmolLM2-135M-Instruct-q0f16-MLC
  local-v1 models fits hf:owner/repo:Q4_K_M --context 4096
  local-v1 models verify ollama:qwen3:0.6b
  local-v1 models remove mlc-ai/SmolLM2-135M-Instruct-q0f16-MLC
  local-v1 models remove --least-used 2GB            the least recently used ones, until 2 GB are free`,
}

/** 0: done; 1: it failed; 2: it was asked the wrong way. */
function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof Fault) {
    note(paint('red', `error: ${error.message}`))
    return error.exitCode
  }
  if (V1Error.is(error)) note(paint('red', `error: ${error.message}`))
  else note(paint('red', error instanceof Error ? (error.stack ?? error.message) : String(error)))
  return 1
}

try {
  await program().parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}
