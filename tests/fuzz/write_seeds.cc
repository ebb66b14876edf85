// write_seeds FOLDER: the seed texts, one folder per fuzz target.
#include <cstdio>
#include <filesystem>
#include <string>

#include "seeds.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_seeds FOLDER\n");
    return 64;
  }
  const std::filesystem::path folder = argv[1];
  std::size_t number = 0;
  for (const caucus::fuzz::Seed& seed : caucus::fuzz::seeds()) {
    for (const std::string& target : {std::string(caucus::name_of(seed.format)), std::string("auto"), std::string("table")}) {
      std::filesystem::create_directories(folder / target);
      caucus::write_file((folder / target / std::to_string(number)).string(), seed.text);
    }
    ++number;
  }
  return 0;
}
