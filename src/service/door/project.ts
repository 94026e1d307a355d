import { V1Error } from '../../contract/index.js'
import type { Caller } from './auth.js'

/** The header of the official clients, and the neutral name beside it. */
export const PROJECT_HEADERS: readonly string[] = ['openai-project', 'compat-project']

const FORM = /^[A-Za-z0-9][\w.-]{0,99}\/[A-Za-z0-9][\w.-]{0,99}$/

/** The projects that requests are counted for. Usage is kept for each name, so that a caller may not invent any number. */
export class Projects {
  readonly #headers: readonly string[]
  readonly #most: number
  readonly #seen = new Map<string, Set<string>>()

  constructor(headers: readonly string[], most: number) {
    this.#headers = headers
    this.#most = most
  }

  /** `<team>/<project>`, or null when the request names none. */
  of(request: Request, caller: Caller): string | null {
    const project = this.#named(request)
    if (project === null) return null
    if (caller.projects) {
      if (caller.projects.includes(project)) return project
      throw new V1Error(403, `This key may not be used for the project '${project}'.`, { code: 'project_not_allowed' })
    }
    const seen = this.#seen.get(caller.id) ?? new Set()
    if (!seen.has(project)) {
      if (seen.size >= this.#most) throw tooMany(project, this.#most)
      this.#seen.set(caller.id, seen.add(project))
    }
    return project
  }

  #named(request: Request): string | null {
    let project: string | null = null
    for (const name of this.#headers) {
      const value = request.headers.get(name)
      if (value === null) continue
      if (!FORM.test(value)) {
        throw invalid(name, `Invalid header '${name}': expected the form '<team>/<project>'.`)
      }
      if (project !== null && project !== value) {
        throw invalid(name, `The headers '${this.#headers.join("' and '")}' name different projects.`)
      }
      project = value
    }
    return project
  }
}

function invalid(param: string, message: string): V1Error {
  return new V1Error(400, message, { param, code: 'invalid_project' })
}

function tooMany(project: string, most: number): V1Error {
  const message = `This key has been used for ${most} projects since the service began: '${project}' would be one more. Use one of those, or raise 'maxProjects'.`
  return new V1Error(403, message, { code: 'too_many_projects' })
}
