// Large arrays that are made from a data set, kept where the data set is: in memory, or in an unnamed file on the disk that it was
// mapped from, where the system holds as much of them in memory as there is room for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "caucus/data/buffer.h"

namespace caucus {

struct Scratch {
  std::string folder;                         // empty: everything in memory
  std::size_t least = std::size_t{64} << 20;  // bytes: what is smaller stays in memory
};

// Zeros in a file that is gone when the last owner is, whatever ends the program. Null where the folder has no room for them or
// may not be written to.
std::shared_ptr<void> map_unnamed_file(const std::string& folder, std::size_t bytes);
// The same where bytes [first, last) only will be written: they alone take room.
std::shared_ptr<void> map_unnamed_file(const std::string& folder, std::size_t bytes, std::size_t first, std::size_t last);

// An array of zeros to be written to.
template <class T>
Buffer<T> scratch_array(const Scratch& scratch, std::size_t size) {
  if (!scratch.folder.empty() && size > 0 && size * sizeof(T) >= scratch.least)
    if (const std::shared_ptr<void> memory = map_unnamed_file(scratch.folder, size * sizeof(T)))
      return Buffer<T>::borrow({static_cast<const T*>(memory.get()), size}, memory);
  return Buffer<T>::zeros(size);
}
// The same where values [first, last) only will be written: they alone take room.
template <class T>
Buffer<T> scratch_array(const Scratch& scratch, std::size_t size, std::size_t first, std::size_t last) {
  const std::size_t each = sizeof(T);
  if (!scratch.folder.empty() && (last - first) * each >= scratch.least)
    if (const std::shared_ptr<void> memory = map_unnamed_file(scratch.folder, size * each, first * each, last * each))
      return Buffer<T>::borrow({static_cast<const T*>(memory.get()), size}, memory);
  return Buffer<T>::zeros(size);
}

}  // namespace caucus
