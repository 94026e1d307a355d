import type { Usage } from '../../contract/index.js'
import type { Admission } from './queue.js'

/** Upper bounds in seconds, up to ten minutes. */
const BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

class Histogram {
  readonly #counts = new Array<number>(BOUNDS.length + 1).fill(0)
  #sum = 0

  add(seconds: number): void {
    this.#sum += seconds
    const at = BOUNDS.findIndex((bound) => seconds <= bound)
    this.#counts[at < 0 ? BOUNDS.length : at]!++
  }

  lines(name: string): string[] {
    let all = 0
    const buckets = this.#counts.map((count, i) => {
      all += count
      return `${name}_bucket{le="${BOUNDS[i] ?? '+Inf'}"} ${all}`
    })
    return [...buckets, `${name}_sum ${this.#sum}`, `${name}_count ${all}`]
  }
}

/** What became of a request, as far as it is counted. */
export interface CountedRequest {
  /** The path of its endpoint in the table, never what a client wrote: that would be without end. */
  readonly endpoint: string
  readonly status: number
  readonly seconds: number
  readonly usage?: Usage | undefined
}

/** What Prometheus is told, in its text format. */
export class Metrics {
  readonly #requests = new Map<string, number>()
  readonly #tokens = { prompt: 0, cached: 0, completion: 0, reasoning: 0 }
  readonly #durations = new Histogram()
  readonly #firsts = new Histogram()

  ended({ endpoint, status, seconds, usage }: CountedRequest): void {
    const labels = `endpoint="${endpoint}",status="${status}"`
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1)
    this.#durations.add(seconds)
    if (usage === undefined) return
    this.#tokens.prompt += usage.promptTokens
    this.#tokens.cached += usage.cachedTokens
    this.#tokens.completion += usage.completionTokens
    this.#tokens.reasoning += usage.reasoningTokens ?? 0
  }

  /** An answer has begun, so long after its request. */
  began(seconds: number): void {
    this.#firsts.add(seconds)
  }

  text({ running, waiting }: Admission, grammars: { readonly size: number; readonly bytes: number }): string {
    const requests = [...this.#requests].map(([labels, count]) => `local_v1_requests_total{${labels}} ${count}`)
    const tokens = Object.entries(this.#tokens).map(([kind, count]) => `local_v1_tokens_total{kind="${kind}"} ${count}`)
    const [took, first] = ['local_v1_request_seconds', 'local_v1_first_token_seconds']
    return [
      ...described('local_v1_requests_total', 'counter', 'Requests that have ended.', requests),
      ...described('local_v1_tokens_total', 'counter', 'Tokens; cached and reasoning are parts of the others.', tokens),
      ...described('local_v1_running', 'gauge', 'Requests that the engine has.', [`local_v1_running ${running}`]),
      ...described('local_v1_waiting', 'gauge', 'Requests in line.', [`local_v1_waiting ${waiting}`]),
      ...described('local_v1_grammars', 'gauge', 'Compiled schemas and grammars in the cache.', [
        `local_v1_grammars ${grammars.size}`,
      ]),
      ...described('local_v1_grammar_bytes', 'gauge', 'Memory that they take, counted; at most 16 MiB.', [
        `local_v1_grammar_bytes ${grammars.bytes}`,
      ]),
      ...described(took, 'histogram', 'From a request to the end of its answer.', this.#durations.lines(took)),
      ...described(first, 'histogram', 'From a request to the first token.', this.#firsts.lines(first)),
      '',
    ].join('\n')
  }
}

const described = (name: string, type: string, help: string, lines: readonly string[]): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...lines,
]
