import type { Caller } from './auth.js'
import { V1Error } from './errors.js'

/** The header of the official clients, and the neutral name beside it. */
export const PROJECT_HEADERS: readonly string[] = ['openai-project', 'compat-project']

const FORM = /^[A-Za-z0-9][\w.-]{0,99}\/[A-Za-z0-9][\w.-]{0,99}$/

/** The project that a request is counted for: `<team>/<project>`, or null when it names none. */
export function projectOf(request: Request, names: readonly string[], caller: Caller): string | null {
  let project: string | null = null
  for (const name of names) {
    const value = request.headers.get(name)
    if (value === null) continue
    if (!FORM.test(value)) {
      throw new V1Error(400, `Invalid header '${name}': expected the form '<team>/<project>'.`, {
        param: name,
        code: 'invalid_project',
      })
    }
    if (project !== null && project !== value) {
      throw new V1Error(400, `The headers '${names.join("' and '")}' name different projects.`, {
        param: name,
        code: 'invalid_project',
      })
    }
    project = value
  }
  if (project !== null && caller.projects && !caller.projects.includes(project)) {
    throw new V1Error(403, `This key may not be used for the project '${project}'.`, { code: 'project_not_allowed' })
  }
  return project
}
