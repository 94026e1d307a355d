/** What this browser keeps for the page, by name. A full or forbidden store keeps nothing, and nothing breaks. */
export function keptValue<T>(name: string): T | undefined {
  try {
    return (JSON.parse(localStorage.getItem(name) ?? 'null') as T | null) ?? undefined
  } catch {
    return undefined
  }
}

/** Whether it is kept now: what is not lasts as long as the page. */
export function keepValue(name: string, value: unknown): boolean {
  try {
    if (value === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, JSON.stringify(value))
    return true
  } catch {
    return false
  }
}

/** The names of all that is kept under names that begin so. */
export function keptNames(beginning: string): string[] {
  try {
    return Object.keys(localStorage).filter((name) => name.startsWith(beginning))
  } catch {
    return []
  }
}
