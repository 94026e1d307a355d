/**
 * What a pass knows of its batch, as words of one buffer. n is the number of rows.
 * [0] n, [1] rows of the head, [3] parts of split contexts, [4] spans, then from 8 on, n words each: tokens, positions, start of the row's page
 * table, gathered rows, tiles (first row, and rows above bit 16), places, the last position of the row's sequence, spans (as tiles),
 * slots of states (one more than that before the row's span, and above bit 16 that after the row), tiles of large heads,
 * start of the row's page table for caches that slide; and last all page tables.
 */
export const META = /* wgsl */ `
fn rowCount() -> u32 { return batch[0]; }
fn headRows() -> u32 { return batch[1]; }
fn tokenOf(row: u32) -> i32 { return bitcast<i32>(batch[8u + row]); }
fn positionOf(row: u32) -> u32 { return batch[8u + batch[0] + row]; }
fn pageOf(row: u32, index: u32) -> u32 { return batch[8u + 11u * batch[0] + batch[8u + 2u * batch[0] + row] + index]; }
fn windowPageOf(row: u32, index: u32) -> u32 { return batch[8u + 11u * batch[0] + batch[8u + 10u * batch[0] + row] + index]; }
fn gatheredRow(row: u32) -> u32 { return batch[8u + 3u * batch[0] + row]; }
fn tileOf(tile: u32) -> u32 { return batch[8u + 4u * batch[0] + tile]; }
fn largeTileOf(tile: u32) -> u32 { return batch[8u + 9u * batch[0] + tile]; }
fn placeOf(row: u32) -> i32 { return bitcast<i32>(batch[8u + 5u * batch[0] + row]); }
fn endOf(row: u32) -> u32 { return batch[8u + 6u * batch[0] + row]; }
fn spanCount() -> u32 { return batch[4]; }
fn spanOf(span: u32) -> u32 { return batch[8u + 7u * batch[0] + span]; }
fn slotsOf(row: u32) -> u32 { return batch[8u + 8u * batch[0] + row]; }
fn leavesState(row: u32, end: u32) -> bool { return row + 1u == end || slotsOf(row) != slotsOf(row + 1u); }
`

export const META_HEADER = 8
/** Lists of n words before the page tables. */
export const META_LISTS = 11
