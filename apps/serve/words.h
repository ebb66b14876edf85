// What the page asks for, as words of a command line. Nothing from a request becomes a flag of its own choosing or names a file.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace caucus::serve {

using Json = nlohmann::ordered_json;

// What the program beside us can do, as it says itself.
struct Abilities {
  Json families;                                            // of 'caucus families --json'
  std::set<std::string> read_flags;                         // of 'caucus info --help': those that say how to read a file
  std::map<std::string, std::set<std::string>> flags = {};  // by command, of its --help
};
std::set<std::string> flags_in(std::string_view help);

// Flags for a request's "reading". Throws std::invalid_argument with words for the user.
std::vector<std::string> reading_words(const Json& reading, const Abilities& abilities);
// The command of a job: {"command": "fit"|"select"|"compare", "family", "families", "groups", "options", "seed", "time_limit",
// "reading"}.
std::vector<std::string> job_words(const Json& request, const std::string& file, const Abilities& abilities);

// Words that make a job keep its state in this file and, `resuming`, go on from it. None where its command or family cannot.
std::vector<std::string> checkpoint_words(const Json& request, const Abilities& abilities, const std::string& file, bool resuming);

// As one would type it in a shell.
std::string command_line(const std::vector<std::string>& words);

}  // namespace caucus::serve
