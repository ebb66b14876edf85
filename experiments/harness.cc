// Results on file: what made a line, and whether it comes out the same again.
#include "harness.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "caucus/base/error.h"
#include "caucus/io/descriptor.h"
#include "caucus_commit.h"

namespace caucus::experiments {

namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      if (const std::size_t at = line.find(": "); at != std::string::npos) return line.substr(at + 2);
  return "unknown";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

Json made_by(std::uint64_t seed, double seconds) {
  static const std::string built = compiler(), cpu = cpu_model();
  return {{"commit", CAUCUS_COMMIT}, {"compiler", built}, {"cpu", cpu},
          {"date", today()},         {"seed", seed},      {"cpu_seconds", std::stod(fmt::format("{:.3g}", seconds))}};
}

// Times and memory differ from run to run; so does what made a line.
bool is_measured(const std::string& name) {
  return name == "made" || name == "key" || name.find("second") != std::string::npos || name == "slowest" || name == "megabytes" ||
         name == "assignments" || name == "centers";
}

// Where two lines differ first, or nothing. Numbers may differ in the last digits, as other compilers add in another order.
std::string difference(const Json& before, const Json& now, const std::string& at) {
  if (before.is_number() && now.is_number()) {
    const double x = before.get<double>(), y = now.get<double>();
    if (std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y)) || (std::isnan(x) && std::isnan(y))) return {};
    return fmt::format("{}: {} on file, {} now", at, x, y);
  }
  if (before.is_object() && now.is_object()) {
    for (const auto& [name, value] : before.items())
      if (!is_measured(name)) {
        if (!now.contains(name)) return fmt::format("{}/{}: not there now", at, name);
        if (const std::string found = difference(value, now[name], at + "/" + name); !found.empty()) return found;
      }
    return {};  // a field that is new says more, not something else
  }
  if (before.is_array() && now.is_array() && before.size() == now.size()) {
    for (std::size_t i = 0; i < before.size(); ++i)
      if (const std::string found = difference(before[i], now[i], fmt::format("{}[{}]", at, i)); !found.empty()) return found;
    return {};
  }
  return before == now ? std::string() : fmt::format("{}: {} on file, {} now", at, before.dump(), now.dump());
}

// The largest of the times in one object: times by sweep are cumulative, and the time of one fit is part of the time of all.
// Objects within it took their time one after the other.
double seconds_in(const Json& value, bool& found) {
  double own = 0.0, within = 0.0;
  if (value.is_object()) {
    for (const auto& [name, part] : value.items()) {
      if (name.find("second") == std::string::npos) {
        within += seconds_in(part, found);
        continue;
      }
      if (part.is_number()) own = std::max(own, part.get<double>()), found = true;
      if (part.is_array())
        for (const Json& one : part)
          if (one.is_number()) own = std::max(own, one.get<double>()), found = true;
      if (part.is_object())
        for (const Json& one : part)
          if (one.is_number()) within += one.get<double>(), found = true;
    }
  } else if (value.is_array()) {
    for (const Json& one : value) within += seconds_in(one, found);
  }
  if (value.is_object() && value.contains("first") && value.contains("last"))  // the mean of these sweeps
    own *= value["last"].get<double>() - value["first"].get<double>() + 1.0;
  return own + within;
}

}  // namespace

std::optional<double> recorded_seconds(const Json& line) {
  if (line.contains("made") && line["made"].contains("cpu_seconds")) return line["made"]["cpu_seconds"].get<double>();
  bool found = false;
  const double seconds = seconds_in(line, found);
  return found ? std::optional(seconds) : std::nullopt;
}

bool says_what_made_it(const Json& line) { return line.contains("made") && !line["made"].contains("from"); }

std::vector<std::string> keys_of(const Target& target) {
  if (!target.keys.empty()) return target.keys;
  return {target.name.substr(target.name.find('-') + 1) + "/"};
}

Results::Results(std::filesystem::path file) : file_(std::move(file)), claims_(file_.string() + ".claims") {
  if (file_.has_parent_path()) std::filesystem::create_directories(file_.parent_path());
  read();
}
Results::~Results() {
  for (const auto& [key, claim] : mine_) give_back(key, claim);
  std::error_code in_use;
  std::filesystem::remove(claims_, in_use);  // the last one does
}

void Results::read() {
  std::ifstream in(file_, std::ios::binary);
  in.seekg(read_);
  for (std::string line; std::getline(in, line) && !in.eof();) {  // half a line is no line, or not yet
    read_ += static_cast<std::streamoff>(line.size()) + 1;
    Json one = Json::parse(line, nullptr, false);
    if (!one.is_object() || !one.contains("key")) continue;
    const auto key = one["key"].get<std::string>();
    if (!lines_.contains(key)) order_.push_back(key);
    lines_[key] = std::move(one);
  }
}

bool Results::has(const std::string& key) {
  if (repeating_ ? !again_.contains(key) : lines_.contains(key)) return true;
  asked_ = cpu_seconds();
  if (repeating_ || mine_.contains(key)) return false;
  std::filesystem::create_directories(claims_);
  const int claim = ::open(place_of(key).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (claim < 0) return false;  // where no claims can be made, this process is alone
  if (::flock(claim, LOCK_EX | LOCK_NB) != 0) {
    ::close(claim);
    return true;
  }
  read();  // it may have been done in the meantime
  if (lines_.contains(key)) {
    give_back(key, claim);
    return true;
  }
  mine_[key] = claim;
  return false;
}

void Results::add(const std::string& key, std::uint64_t seed, Json values) {
  values["key"] = key;
  values["made"] = made_by(seed, cpu_seconds() - asked_);
  asked_ = cpu_seconds();
  if (repeating_) {
    if (again_.erase(key) > 0) repeated_.push_back({key, difference(lines_.at(key), values, ""), std::move(values)});
    return;
  }
  append(values.dump() + "\n");
  if (!lines_.contains(key)) order_.push_back(key);
  lines_[key] = std::move(values);
  if (const auto claim = mine_.find(key); claim != mine_.end()) {
    give_back(key, claim->second);
    mine_.erase(claim);
  }
}

void Results::append(std::string text) const {
  const int out = ::open(file_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (out < 0) throw IoError(fmt::format("{}: cannot be written", file_.string()));
  ::flock(out, LOCK_EX);
  // A run that was killed while writing leaves half a line; what is added must not join it.
  const off_t size = ::lseek(out, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(out, &last, 1, size - 1) == 1 && last != '\n') text = fmt::format("\n{}", text);
  const bool whole = write_full(out, text.data(), text.size());
  ::close(out);
  if (!whole) throw IoError(fmt::format("{}: cannot be written", file_.string()));
}
std::string Results::place_of(const std::string& key) const {
  return fmt::format("{}/{:016x}", claims_.string(), std::hash<std::string>{}(key));
}
void Results::give_back(const std::string& key, int claim) {
  std::error_code gone;
  std::filesystem::remove(place_of(key), gone);
  ::close(claim);
}

void Results::repeat(std::set<std::string> keys) {
  repeating_ = true;
  again_ = std::move(keys);
}

void Results::replace_repeated() {
  for (const Repeated& one : repeated_) lines_[one.key] = one.line;
  const std::filesystem::path fresh = file_.string() + ".new";
  {
    std::ofstream out(fresh);
    for (const std::string& key : order_) out << lines_.at(key).dump() << "\n";
    if (!out.flush()) throw std::runtime_error(fresh.string() + " cannot be written");
  }
  std::filesystem::rename(fresh, file_);
}

}  // namespace caucus::experiments
