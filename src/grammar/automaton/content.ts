import type { TextAutomaton } from '../automata/types.js'
import type { Bytes, Frame } from './frame.js'

/** A place in text where characters of some kinds (see `automata/kinds.ts`) may come in any order. */
export interface Passing {
  /** All the other kinds: those whose characters may lead elsewhere. `NONE_PASS`: every kind may. */
  readonly leaving: number
  /** How many characters of the passing kinds may come. */
  readonly room: number
}

/** A text as a sparse automaton has it, and the place in it. */
export interface FewWays {
  readonly state: number
  /** Whether the string may close there. */
  closes(state: number): boolean
  /** The characters that lead on, as JSON writes them, and where. */
  each(state: number, visit: (bytes: Bytes, next: number) => void): void
  /** Bytes of the shortest way to the end of the string. */
  length(state: number): number
  at(state: number): ContentFrame
}

/** A place between two characters of a text, as an automaton has it whose states can be followed one by one. */
export interface Ways {
  readonly text: TextAutomaton
  readonly state: number
  /** Bytes of the shortest way to the end of the string. */
  length(state: number): number
  at(state: number): ContentFrame
}

/** A place inside a string, as masks are kept by it: what may come before the closing quote, and how long the way to the end then is. */
export interface ContentFrame extends Frame, Passing {
  /** Whether one character more than there is room for may never come. */
  readonly exact: boolean
  /** The same of kinds that may lead elsewhere, if they are more; it takes a while to find out. */
  readonly roaming: Passing
  /** Whether the string may close wherever it has got to from here on. */
  readonly endsAnywhere: boolean
  /** Of a place from which few characters lead on: where. */
  readonly few: FewWays | undefined
  /** Of any other between two characters of a text. */
  readonly ways: Ways | undefined
  /** The same place in a text of any length, if for so many characters more only its own room tells it from that. */
  unlimited(characters: number): { readonly frame: ContentFrame; readonly room: number } | undefined
  /** Whether all kinds pass, escapes among them. */
  readonly anything: boolean
  /** How many characters may come, whichever they are. */
  readonly free: number
  /** Whether every character leads back here, limits on length aside: only `room` and `needed` tell such places apart. */
  readonly level: boolean
  /** Where it is level: how many characters must still come before the closing quote. */
  readonly needed: number
  /** Whether the way to the end is the same after all passing characters. */
  readonly settled: boolean
  /** No way to the end is longer after passing characters, if it begins between two characters. */
  readonly longestBetween: number
  /** No way to the end is longer, whatever comes before the closing quote. */
  readonly longest: number
  /** A place, often this one, where the same may come before the closing quote. */
  readonly like: ContentFrame
  /** Where taken keys are all that keeps it from being level: the place of any other key, and what is left of the taken ones. */
  readonly besides: { readonly frame: ContentFrame; readonly taken: readonly Bytes[] } | undefined
  /** Whether it is a place in a text that other grammars may have too; else one of this grammar's objects. */
  readonly text: boolean
  /** Whether what is learned of it may be kept for other grammars: not of the texts of one request. */
  readonly shared: boolean
}
