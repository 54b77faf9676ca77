//===- AccessShadow.cpp - Who touched which byte --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cells, and what orders a new access after those that a cell remembers.
//===----------------------------------------------------------------------===//

#include "runtime/device/AccessShadow.h"

#include <algorithm>
#include <bit>

namespace shardc::runtime {

static constexpr int pageShift = 12;
static constexpr uintptr_t pageBytes = uintptr_t(1) << pageShift;

void AccessShadow::clear() {
  pages.clear();
  recent.fill({});
}

AccessShadow::Page *AccessShadow::find(uintptr_t number) {
  Recent &entry = recent[number % recent.size()];
  entry = {number, &pages[number]};
  return entry.page;
}

/// Gives a page units of this size: larger ones than before only where nothing
/// is remembered.
void AccessShadow::adapt(Page &page, int unit) {
  const size_t count = pageBytes >> unit;
  const bool isForgotten = page.floor != floor;
  if (page.capacity < count) {
    auto cells = std::make_unique<Cell[]>(count);
    if (!isForgotten)
      for (size_t i = 0; i < count; ++i)
        cells[i] = page.cells[i >> (page.unit - unit)];
    page.cells = std::move(cells);
    page.capacity = count;
  } else if (!isForgotten) {
    // In place, from the end: a unit's parts lie at or behind it.
    for (size_t i = count; i-- > 0;)
      page.cells[i] = page.cells[i >> (page.unit - unit)];
  }
  page.unit = unit;
  page.floor = floor;
}

inline AccessShadow::Cells AccessShadow::cellsOf(uintptr_t address,
                                                 size_t bytes) {
  const uintptr_t number = address >> pageShift;
  const Recent &entry = recent[number % recent.size()];
  Page &page = entry.number == number ? *entry.page : *find(number);
  const int unit = std::countr_zero(bytes);
  if (page.floor != floor || unit < page.unit) [[unlikely]]
    adapt(page, unit);
  return {&page.cells[address % pageBytes >> page.unit], bytes >> page.unit,
          page.unit};
}

inline bool AccessShadow::isOrdered(Moment earlier,
                                    const Viewpoint &view) const {
  if (earlier < floor || earlier.isSameThread(view.now))
    return true;
  if (earlier.block() != view.now.block())
    return false;
  if (earlier.clock() < view.lastBarrier)
    return true;
  return view.seen && earlier.warp() == view.now.warp() &&
         earlier.clock() < view.seen[earlier.lane()];
}

/// Whether all that read since the floor, and somebody did, are ordered before
/// this thread; otherwise says one that is not, if asked.
bool AccessShadow::areReadersOrdered(const Cell &cell, const Viewpoint &view,
                                     Moment *unordered) const {
  const Moment reader = cell.reader;
  const bool isSameBlock = reader.block() == view.now.block();
  if (isSameBlock && reader.clock() < view.lastBarrier)
    return true;
  Moment found = reader;
  if (isSameBlock && reader.warp() == view.now.warp()) {
    if (cell.lanes == 0) {
      found = {reader.block(), cell.otherReader, reader.clock()};
    } else {
      uint32_t lanes = cell.lanes & ~(1u << view.now.lane());
      while (lanes && view.seen &&
             reader.clock() < view.seen[std::countr_zero(lanes)])
        lanes &= lanes - 1;
      if (lanes == 0)
        return true;
      found = {reader.block(), reader.warp() * 32 + std::countr_zero(lanes),
               reader.clock()};
    }
  }
  if (unordered)
    *unordered = found;
  return false;
}

inline void AccessShadow::addReader(Cell &cell, const Viewpoint &view) const {
  const Moment now = view.now;
  if (cell.reader == now)
    return;
  if (cell.reader < floor || areReadersOrdered(cell, view, nullptr)) {
    cell.reader = now;
    cell.lanes = 1u << now.lane();
    return;
  }
  if (cell.reader.block() != now.block())
    return;
  if (cell.lanes != 0 && cell.reader.warp() == now.warp()) {
    cell.lanes |= 1u << now.lane();
  } else if (cell.lanes != 0) {
    cell.lanes = 0;
    cell.otherReader = now.thread();
  }
  cell.reader = cell.reader.atClock(std::min(cell.reader.clock(), now.clock()));
}

/// Of two findings about an access the one to be told: the first race.
const AccessFinding *AccessShadow::note(const AccessFinding *found,
                                        const AccessFinding &other) {
  if (found && (found->kind == AccessFinding::Kind::Race ||
                other.kind == AccessFinding::Kind::Unwritten))
    return found;
  finding = other;
  return &finding;
}

const AccessFinding *AccessShadow::read(uintptr_t address, size_t bytes,
                                        const Viewpoint &view) {
  const AccessFinding *found = nullptr;
  const Cells cells = cellsOf(address, bytes);
  for (size_t i = 0; i < cells.count; ++i) {
    Cell &cell = cells.first[i];
    if (!isOrdered(cell.writer, view)) [[unlikely]]
      found = note(found, {AccessFinding::Kind::Race,
                           address + (i << cells.unit), cell.writer, true});
    else if (reads == Reads::OfWritten && cell.writer < floor) [[unlikely]]
      found = note(found, {AccessFinding::Kind::Unwritten,
                           address + (i << cells.unit), Moment(), false});
    addReader(cell, view);
  }
  return found;
}

const AccessFinding *AccessShadow::write(uintptr_t address, size_t bytes,
                                         const Viewpoint &view) {
  const AccessFinding *found = nullptr;
  const Cells cells = cellsOf(address, bytes);
  for (size_t i = 0; i < cells.count; ++i) {
    Cell &cell = cells.first[i];
    Moment reader;
    if (!isOrdered(cell.writer, view)) [[unlikely]]
      found = note(found, {AccessFinding::Kind::Race,
                           address + (i << cells.unit), cell.writer, true});
    else if (cell.reader >= floor && !areReadersOrdered(cell, view, &reader))
        [[unlikely]]
      found = note(found, {AccessFinding::Kind::Race,
                           address + (i << cells.unit), reader, false});
    cell.writer = view.now;
    cell.reader = Moment();
  }
  return found;
}

} // namespace shardc::runtime
