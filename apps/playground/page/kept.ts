/** What this browser keeps for the page, by name. A full or forbidden store keeps nothing, and nothing breaks. */
export function keptValue<T>(name: string): T | undefined {
  try {
    return (JSON.parse(localStorage.getItem(name) ?? 'null') as T | null) ?? undefined
  } catch {
    return undefined
  }
}

export function keepValue(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, JSON.stringify(value))
  } catch {
    // It lasts as long as the page.
  }
}
