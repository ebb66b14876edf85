// The project folder: plain files that outlive the server.
//   uploads/ID/upload.json, uploads/ID/NAME       a file as it came
//   jobs/ID/job.json, NAME, model.json, log, ...  a fit; NAME is the upload again (a hard link), so that the command line works as
//   it stands
// IDs are made here, of letters and digits. A file is written beside its place and moved there, so it is whole or not there at all.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "http.h"

namespace caucus::serve {

using Json = nlohmann::ordered_json;

// A name from a browser as a file name: the last part of a path, of letters, digits, dots, hyphens and underscores.
std::string safe_file_name(std::string_view name);
std::string random_text(std::size_t length);  // of letters and digits, from the system's source of randomness
std::string dump(const Json& json);
std::string now();  // UTC, as in 2026-01-31T12:00:00Z

struct Upload {
  std::string id, name, file;  // as the user calls it, and as it lies in the folder
  std::uint64_t size = 0;
  std::string time;
};

// queued, running, then done, failed, cancelled; or interrupted: the server ended first.
struct Job {
  std::string id, upload, state = "queued", created, ended;
  Json request;                    // as it was asked for
  std::vector<std::string> words;  // of the command line, after the program's name
  std::string message;             // what went wrong
  Json result;                     // family, groups and log-likelihood of the model
  Json progress;                   // the last; not kept
  std::uint64_t ticket = 0, version = 0;
};

class Project {
 public:
  // Makes the folder where it is missing and takes it for this process alone. Jobs that were under way become interrupted.
  explicit Project(const std::filesystem::path& folder);
  ~Project();
  Project(const Project&) = delete;
  Project& operator=(const Project&) = delete;

  std::unique_ptr<Sink> new_upload(const std::string& name, std::function<Response(const Upload&)> answer);
  Upload* upload(const std::string& id);
  Job* job(const std::string& id);
  Job& new_job(const Upload& upload);
  void save(const Job& job);
  void remove_upload(const std::string& id);
  void remove_job(const std::string& id);
  std::filesystem::path folder_of(const Upload& upload) const { return folder_ / "uploads" / upload.id; }
  std::filesystem::path folder_of(const Job& job) const { return folder_ / "jobs" / job.id; }

  std::map<std::string, Upload> uploads;
  std::map<std::string, Job> jobs;

 private:
  std::filesystem::path folder_;
  int lock_ = -1;
};

void write_whole(const std::filesystem::path& path, std::string_view text);
std::string read_whole(const std::filesystem::path& path, std::size_t most);

}  // namespace caucus::serve
