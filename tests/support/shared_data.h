// Where real data lie, for tests that want them: CAUCUS_DATA, or ../shared/data beside the source tree.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/source_dir.h"

namespace caucus::testing {

inline std::string shared_data(const std::string& file) {
  const char* folder = std::getenv("CAUCUS_DATA");
  return (folder != nullptr ? std::string(folder) : source_dir() + "/../shared/data") + "/" + file;
}

}  // namespace caucus::testing

// Skips the test with a message where the file is missing.
#define CAUCUS_NEEDS(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is missing; set CAUCUS_DATA to the folder with the data"
