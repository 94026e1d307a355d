/** A byte-level BPE tokenizer of some hundred tokens, trained on the spot, with the control tokens of Qwen. */

const CORPUS = `{"title":"The Old Man and the Sea","year":1952,"tags":["novel","sea"],"status":"open","note":null}
{"name":"get_weather","arguments":{"city":"Paris","unit":"celsius","days":[1,2,3]}} {"id": 12, "ok": true, "list": []}
The quick brown fox jumps over the lazy dog. Once upon a time there was a little girl who lived in the woods.
User: what is the weather in Paris? Assistant: it is sunny, and the answer is 42. STOP the END of the line.`

const CONTROL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
const MARKS = ['<think>', '</think>', '<tool_call>', '</tool_call>']
const ALPHABET = alphabet()

/** What its configuration says of it. */
type SmallConfig = {
  readonly bos_token?: string
  readonly eos_token: string
  readonly chat_template: string
}

export function smallTokenizer(merges = 220) {
  const learned = learn(merges)
  const names = [...ALPHABET, ...learned.map(([a, b]) => a + b)]
  const vocab = Object.fromEntries(names.map((name, id) => [name, id]))
  const added = [...CONTROL, ...MARKS].map((content, i) => ({
    id: names.length + i,
    content,
    special: CONTROL.includes(content),
    normalized: false,
    lstrip: false,
    rstrip: false,
    single_word: false,
  }))
  return {
    tokenizer: {
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
      post_processor: null,
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: { type: 'BPE', unk_token: null, byte_fallback: false, vocab, merges: learned },
    },
    tokenizerConfig: { eos_token: '<|im_end|>', chat_template: CHAT } as SmallConfig,
  }
}

const CHAT = `{%- if tools %}{{- '<|im_start|>system\\n' }}{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}{{- '\\nuse <tool_call><|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- if enable_thinking is defined and not enable_thinking %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}`

/** GPT-2's names of the 256 bytes. */
function alphabet(): string[] {
  const names: string[] = []
  let next = 256
  for (let byte = 0; byte < 256; byte++) {
    const prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
    names.push(String.fromCharCode(prints ? byte : next++))
  }
  return names
}

function learn(count: number): [string, string][] {
  const words = CORPUS.match(/'s|'t| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+/g)!.map((word) =>
    [...new TextEncoder().encode(word)].map((byte) => ALPHABET[byte]!),
  )
  const merges: [string, string][] = []
  while (merges.length < count) {
    const best = mostFrequent(words)
    if (best === undefined) break
    merges.push(best)
    for (const word of words) {
      for (let i = 0; i + 1 < word.length; i++) {
        if (word[i] === best[0] && word[i + 1] === best[1]) word.splice(i, 2, best[0] + best[1])
      }
    }
  }
  return merges
}

function mostFrequent(words: readonly (readonly string[])[]): [string, string] | undefined {
  const counts = new Map<string, number>()
  for (const word of words) {
    for (let i = 0; i + 1 < word.length; i++) {
      const key = `${word[i]} ${word[i + 1]}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const best = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0]
  return best && (best[0].split(' ') as [string, string])
}
