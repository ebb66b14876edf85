// One copy of a data set for all processes of a machine. The first of them makes it and writes it down as a .cds file without a
// name, beside the data or in memory; all map that file, and the system holds each page of it once.
#pragma once

#include <functional>
#include <string>

#include "caucus/io/io.h"

namespace caucus {

// All processes of options.ranks call. read(keeper): called by all; what it returns counts where `keeper` is true. alone(): the
// whole data set by each for itself, where no copy can be shared. Throws everywhere what read() throws at a keeper.
Dataset read_one_copy(const std::string& path, const ReadOptions& options, const std::function<Dataset(bool keeper)>& read,
                      const std::function<Dataset()>& alone);

}  // namespace caucus
