#include "project.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <stdexcept>

namespace caucus::serve {

namespace files = std::filesystem;

namespace {

[[noreturn]] void give_up(const files::path& path) {
  throw std::runtime_error(fmt::format("{}: {}", path.string(), std::strerror(errno)));
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Json read_json(const files::path& path) { return Json::parse(read_whole(path, 16u << 20), nullptr, false); }

bool is_id(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

class UploadSink : public Sink {
 public:
  UploadSink(files::path folder, Upload upload, std::function<Response(const Upload&)> answer)
      : folder_(std::move(folder)), upload_(std::move(upload)), answer_(std::move(answer)) {
    files::create_directories(folder_);
    const files::path path = folder_ / upload_.file;
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) give_up(path);
  }
  ~UploadSink() override {
    close(descriptor_);
    std::error_code ignored;
    if (!kept_) files::remove_all(folder_, ignored);
  }
  UploadSink(const UploadSink&) = delete;
  UploadSink& operator=(const UploadSink&) = delete;
  bool write(std::string_view piece) override {
    upload_.size += piece.size();
    return write_all(descriptor_, piece);
  }
  Response finish() override try {
    if (fsync(descriptor_) != 0) return failure(507, "the file could not be written: is the disk full?");
    write_whole(folder_ / "upload.json",
                dump({{"name", upload_.name}, {"file", upload_.file}, {"size", upload_.size}, {"time", upload_.time}}));
    files::rename(folder_, folder_.parent_path() / upload_.id);
    kept_ = true;
    return answer_(upload_);
  } catch (const std::exception& failed) {
    return failure(507, failed.what());
  }

 private:
  files::path folder_;
  Upload upload_;
  std::function<Response(const Upload&)> answer_;
  int descriptor_;
  bool kept_ = false;
};

}  // namespace

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string safe_file_name(std::string_view name) {
  name.remove_prefix(std::min(name.find_last_of("/\\") + 1, name.size()));
  std::string safe;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    safe += plain ? c : '_';
  }
  if (safe.size() > 80) safe.erase(0, safe.size() - 80);  // the end says what kind of file it is
  safe.erase(0, std::min(safe.find_first_not_of(".-"), safe.size()));
  for (const std::string_view ours :
       {"job.json", "upload.json", "model.json", "compare.json", "caucus.log", "members.csv", "report.", "pair-", "checkpoint"})
    if (safe.starts_with(ours)) return "data-" + safe;
  return safe.empty() ? "data" : safe;
}

std::string random_text(std::size_t length) {
  std::string text;
  while (text.size() < length) {
    unsigned char byte = 0;
    if (getrandom(&byte, 1, 0) != 1) throw std::runtime_error("the system gives no random numbers");
    if (byte < 252) text += "abcdefghijklmnopqrstuvwxyz0123456789"[byte % 36];  // 252 = 7 * 36: each equally often
  }
  return text;
}

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

void write_whole(const files::path& path, std::string_view text) {
  files::path beside = path;
  beside += ".new";
  const int descriptor = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) give_up(beside);
  const bool written = write_all(descriptor, text) && fsync(descriptor) == 0;
  close(descriptor);
  if (!written || std::rename(beside.c_str(), path.c_str()) != 0) give_up(path);
}

std::string read_whole(const files::path& path, std::size_t most) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(most, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

Project::Project(const files::path& folder) {
  files::create_directories(folder / "uploads");
  files::create_directories(folder / "jobs");
  folder_ = files::canonical(folder);
  const files::path lock = folder_ / ".caucus-serve";
  lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) give_up(lock);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0)
    throw std::runtime_error(fmt::format("{}: another caucus serve works in this folder", folder_.string()));
  for (const auto& entry : files::directory_iterator(folder_ / "uploads")) {
    const std::string id = entry.path().filename().string();
    const Json json = read_json(entry.path() / "upload.json");
    if (id.starts_with(".")) files::remove_all(entry.path());  // an upload that was cut off
    if (!is_id(id) || !json.is_object()) continue;
    Upload upload{id, json.value("name", id), safe_file_name(json.value("file", "")), json.value("size", std::uint64_t{0}),
                  json.value("time", "")};
    if (files::is_regular_file(entry.path() / upload.file)) uploads[id] = std::move(upload);
  }
  for (const auto& entry : files::directory_iterator(folder_ / "jobs")) {
    const std::string id = entry.path().filename().string();
    const Json json = read_json(entry.path() / "job.json");
    if (!is_id(id) || !json.is_object() || !uploads.contains(json.value("upload", ""))) continue;
    Job job;
    job.id = id;
    job.upload = json.value("upload", "");
    job.state = json.value("state", "interrupted");
    job.created = json.value("created", "");
    job.ended = json.value("ended", "");
    job.message = json.value("message", "");
    job.request = json.value("request", Json::object());
    job.result = json.value("result", Json());
    job.words = json.value("words", std::vector<std::string>());
    if (job.state == "queued" || job.state == "running") {
      job.state = "interrupted";
      job.message = "The server ended before this fit did.";
      save(job);
    }
    jobs[id] = std::move(job);
  }
}

Project::~Project() { close(lock_); }

std::unique_ptr<Sink> Project::new_upload(const std::string& name, std::function<Response(const Upload&)> answer) {
  Upload upload{random_text(12), name, safe_file_name(name), 0, now()};
  const files::path folder = folder_ / "uploads" / ("." + upload.id);
  return std::make_unique<UploadSink>(folder, upload, [this, answer = std::move(answer)](const Upload& done) {
    uploads[done.id] = done;
    return answer(done);
  });
}

Upload* Project::upload(const std::string& id) {
  const auto found = uploads.find(id);
  return found == uploads.end() ? nullptr : &found->second;
}
Job* Project::job(const std::string& id) {
  const auto found = jobs.find(id);
  return found == jobs.end() ? nullptr : &found->second;
}

Job& Project::new_job(const Upload& upload) {
  Job job;
  job.id = random_text(12);
  job.upload = upload.id;
  job.created = now();
  files::create_directories(folder_of(job));
  std::error_code no_link;
  files::create_hard_link(folder_of(upload) / upload.file, folder_of(job) / upload.file, no_link);
  if (no_link) files::create_symlink(folder_of(upload) / upload.file, folder_of(job) / upload.file);
  return jobs[job.id] = job;
}

void Project::save(const Job& job) {
  write_whole(folder_of(job) / "job.json", dump({{"upload", job.upload},
                                                 {"state", job.state},
                                                 {"created", job.created},
                                                 {"ended", job.ended},
                                                 {"message", job.message},
                                                 {"words", job.words},
                                                 {"request", job.request},
                                                 {"result", job.result}}));
}

void Project::remove_job(const std::string& id) {
  if (const Job* found = job(id)) files::remove_all(folder_of(*found));
  jobs.erase(id);
}
void Project::remove_upload(const std::string& id) {
  std::vector<std::string> its;
  for (const auto& [name, one] : jobs)
    if (one.upload == id) its.push_back(name);
  for (const std::string& name : its) remove_job(name);
  if (const Upload* found = upload(id)) files::remove_all(folder_of(*found));
  uploads.erase(id);
}

}  // namespace caucus::serve
