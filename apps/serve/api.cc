#include "api.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <stdexcept>

namespace caucus::serve {

namespace files = std::filesystem;

namespace {

constexpr std::chrono::seconds patience{600};  // for a question; fits may take as long as they like
constexpr std::size_t first_ballots = 12;

Response json(const Json& answer) { return {.body = dump(answer)}; }

// The lines that say what went wrong, without the program's name.
std::string errors_in(std::string_view text) {
  std::string errors;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("caucus: ")) continue;
    line.remove_prefix(8);
    errors += (errors.empty() ? "" : "\n") + std::string(line);
  }
  return errors;
}

std::string why(const Outcome& outcome, std::string_view text) {
  if (std::string errors = errors_in(text); !errors.empty()) return errors;
  if (outcome.exit_code == 127) return "the command could not be started";
  if (outcome.exit_code < 0) return fmt::format("the command was ended by signal {}", outcome.signal);
  return fmt::format("the command ended with code {}", outcome.exit_code);
}

Json lines_of(std::string_view text) {
  Json lines = Json::array();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Json parse_body(const Request& request) {
  Json body = Json::parse(request.body.empty() ? "{}" : request.body, nullptr, false);
  if (body.is_discarded()) throw std::invalid_argument("the request is no JSON");
  return body;
}

// A report calls models by their files: each gets a name that tells which it is, in a folder of its own.
std::string telling_name(const files::path& folder, const Job& job, const files::path& model, const char* place) {
  const Json result = job.result.is_object() ? job.result : Json::object();
  const files::path name = files::path(fmt::format("pair-{}", place)) /
                           fmt::format("{}-{}-groups.json", result.value("family", "model"), result.value("groups", 0));
  files::create_directories(folder / name.parent_path());
  files::copy_file(model, folder / name, files::copy_options::overwrite_existing);
  return name.string();
}

// Where a job keeps its state while it runs.
constexpr const char* checkpoint_file = "checkpoint";

// The last one and, where its writer keeps it, the one before.
void remove_checkpoints(const files::path& folder) {
  std::error_code ignored;
  std::vector<files::path> its;
  for (const auto& entry : files::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(checkpoint_file)) its.push_back(entry.path());
  for (const files::path& path : its) files::remove(path, ignored);
}

std::string file_stem(const Upload& upload) { return files::path(upload.file).stem().string(); }

}  // namespace

Api::Api(boost::asio::io_context& io, Project& project, Abilities abilities, ApiOptions options)
    : project_(project),
      abilities_(std::move(abilities)),
      options_(std::move(options)),
      fits_(io, options_.program, options_.fits_at_once, options_.memory),
      questions_(io, options_.program, 2, options_.memory) {}

void Api::stop() {
  stopping_ = true;
  fits_.stop_all();
  questions_.stop_all();
}

Json Api::describe(const Upload& upload) const {
  return {{"id", upload.id}, {"name", upload.name}, {"file", upload.file}, {"size", upload.size}, {"time", upload.time}};
}

bool Api::can_resume(const Job& job) const {
  return (job.state == "interrupted" || job.state == "cancelled") && files::exists(project_.folder_of(job) / checkpoint_file);
}

Json Api::describe(const Job& job) const {
  Json json{{"id", job.id},           {"version", job.version}, {"upload", job.upload},   {"state", job.state},
            {"created", job.created}, {"ended", job.ended},     {"request", job.request}, {"command", command_line(job.words)},
            {"message", job.message}, {"result", job.result}};
  if (job.state == "running") json["progress"] = job.progress;
  json["model"] = files::exists(project_.folder_of(job) / "model.json");
  json["comparison"] = files::exists(project_.folder_of(job) / "compare.json");
  json["resumable"] = can_resume(job);
  return json;
}

void Api::changed(Job& job) {
  job.version = ++version_;
  if (wake_) wake_();
}
void Api::list_changed() {
  list_version_ = ++version_;
  if (wake_) wake_();
}

std::string Api::events(std::uint64_t& seen) {
  Json changes{{"jobs", Json::array()}};
  for (const auto& [id, job] : project_.jobs)
    if (job.version > seen) changes["jobs"].push_back(describe(job));
  const bool list = list_version_ > seen;
  seen = version_;
  if (changes["jobs"].empty() && !list) return "";
  if (list) changes["list"] = true;
  return "data: " + dump(changes) + "\n\n";
}

bool Api::is_upload(const Request& request) const {
  return request.method == "POST" && request.path == std::vector<std::string>{"api", "uploads"};
}

std::unique_ptr<Sink> Api::upload(const Request& request, Response& refusal) {
  const auto name = request.query.find("name");
  if (name == request.query.end() || name->second.empty() || name->second.size() > 500) {
    refusal = failure(400, "a file comes with its name");
    return nullptr;
  }
  if (project_.uploads.size() >= options_.most_jobs) {
    refusal = failure(409, "the project holds as many files as it can: remove some first");
    return nullptr;
  }
  try {
    return project_.new_upload(name->second, [this](const Upload& upload) {
      list_changed();
      return json(describe(upload));
    });
  } catch (const std::exception& failed) {
    refusal = failure(507, failed.what());
    return nullptr;
  }
}

void Api::handle(const Request& request, Reply reply) try {
  const std::vector<std::string>& path = request.path;
  const std::string &method = request.method, what = path.size() > 1 ? path[1] : "";
  if (method != "GET" && method != "POST" && method != "DELETE") return reply(failure(405, "only GET, POST and DELETE"));
  if (method == "GET" && what == "project" && path.size() == 2) {
    Json answer{{"version", version_},
                {"uploads", Json::array()},
                {"jobs", Json::array()},
                {"families", abilities_.families},
                {"read_flags", abilities_.read_flags}};
    for (const auto& [id, one] : project_.uploads) answer["uploads"].push_back(describe(one));
    for (const auto& [id, one] : project_.jobs) answer["jobs"].push_back(describe(one));
    return reply(json(answer));
  }
  if (what == "uploads" && path.size() >= 3) {
    const Upload* upload = project_.upload(path[2]);
    if (!upload) return reply(failure(404, "there is no such file"));
    if (method == "POST" && path.size() == 4 && path[3] == "reading")
      return read_upload(*upload, parse_body(request), std::move(reply));
    if (method == "DELETE" && path.size() == 3) {
      for (const auto& [id, job] : project_.jobs)
        if (job.upload == upload->id && (job.state == "queued" || job.state == "running"))
          return reply(failure(409, "a fit of this file is under way: cancel it first"));
      project_.remove_upload(path[2]);
      list_changed();
      return reply(json({{"removed", path[2]}}));
    }
  }
  if (method == "POST" && what == "jobs" && path.size() == 2) return reply(start(parse_body(request)));
  if (what == "jobs" && path.size() >= 3) {
    Job* job = project_.job(path[2]);
    if (!job) return reply(failure(404, "there is no such fit"));
    return job_action(*job, request, std::move(reply));
  }
  reply(failure(404, "there is nothing here"));
} catch (const std::invalid_argument& wrong) {
  reply(failure(400, wrong.what()));
} catch (const Json::exception&) {
  reply(failure(400, "the request has another form than expected"));
} catch (const std::exception& failed) {
  reply(failure(500, failed.what()));
}

// What was understood of a file: 'info' in numbers, then its first ballots as read.
void Api::read_upload(const Upload& upload, const Json& body, Reply reply) {
  const std::vector<std::string> flags = reading_words(body.value("reading", Json()), abilities_);
  std::vector<std::string> words{"info", upload.file}, ballots{"convert", upload.file, "-", "--to", "jsonl"};
  words.insert(words.end(), flags.begin(), flags.end());
  ballots.insert(ballots.end(), flags.begin(), flags.end());
  Json answer{{"command", command_line(words)}};
  words.push_back("--json");
  const std::string folder = project_.folder_of(upload).string();
  questions_.add({.words = words, .folder = folder, .patience = patience},
                 [this, folder, ballots, answer, reply](Outcome outcome) mutable {
                   answer["ok"] = outcome.ok();
                   if (!outcome.ok()) {
                     answer["problems"] = lines_of(why(outcome, outcome.err));
                     return reply(json(answer));
                   }
                   answer["info"] = Json::parse(outcome.out, nullptr, false);
                   questions_.add({.words = ballots, .folder = folder, .most_lines = 1 + first_ballots, .patience = patience},
                                  [answer, reply](Outcome second) mutable {
                                    answer["ballots"] = Json::array();
                                    for (const Json& line : lines_of(second.out))
                                      if (Json one = Json::parse(line.get<std::string>(), nullptr, false);
                                          one.is_object() && one.contains("ranking") && answer["ballots"].size() < first_ballots)
                                        answer["ballots"].push_back(std::move(one));
                                    reply(json(answer));
                                  });
                 });
}

Response Api::start(const Json& request) {
  const Upload* upload = request.is_object() ? project_.upload(request.value("upload", "")) : nullptr;
  if (!upload) return failure(404, "there is no such file");
  if (project_.jobs.size() >= options_.most_jobs)
    return failure(409, "the project holds as many fits as it can: remove some first");
  std::vector<std::string> words = job_words(request, upload->file, abilities_);
  Job& job = project_.new_job(*upload);
  job.request = request;
  job.words = std::move(words);
  project_.save(job);
  run(job.id);
  changed(job);
  list_changed();
  return json(describe(job));
}

void Api::run(const std::string& id, bool resuming) {
  Job& added = *project_.job(id);
  // Not among the words that are shown: they change no result.
  std::vector<std::string> words = added.words;
  for (std::string& word : checkpoint_words(added.request, abilities_, checkpoint_file, resuming)) words.push_back(std::move(word));
  const std::string folder = project_.folder_of(added).string();
  added.ticket = fits_.add(
      {.words = std::move(words), .folder = folder, .log = folder + "/caucus.log"},
      [this, id](const Outcome& outcome) { ended(id, outcome); },
      [this, id] {
        Job& job = *project_.job(id);
        job.state = "running";
        project_.save(job);
        changed(job);
      },
      [this, id](std::string_view line) {
        Job* job = project_.job(id);
        if (Json one = Json::parse(line, nullptr, false); job && one.is_object()) {
          job->progress = std::move(one);
          changed(*job);
        }
      });
}

void Api::ended(const std::string& id, const Outcome& outcome) {
  Job* job = project_.job(id);
  if (!job || stopping_) return;  // of a stopping server the job stays under way, and is found interrupted next time
  const files::path folder = project_.folder_of(*job);
  const bool left_model = files::exists(folder / "model.json") || files::exists(folder / "compare.json");
  job->ended = now();
  job->message.clear();
  if (outcome.ok()) remove_checkpoints(folder);
  if (outcome.ok() || (outcome.exit_code == 75 && left_model)) {
    job->state = "done";
    if (!outcome.ok()) job->message = "The time limit came first: this is what was done by then.";
  } else if (outcome.exit_code == 130 || outcome.signal == SIGINT || outcome.signal == SIGKILL) {
    job->state = "cancelled";
    job->message = left_model ? "Cancelled: this is the best result so far." : "Cancelled before there was a result.";
  } else {
    job->state = "failed";
    job->message = why(outcome, read_whole(folder / "caucus.log", 1u << 20));
  }
  if (files::exists(folder / "model.json")) {
    const Json model = Json::parse(read_whole(folder / "model.json", 64u << 20), nullptr, false);
    if (model.is_object()) {
      job->result = {{"family", model.value("family", "")}, {"groups", model.value("components", Json::array()).size()}};
      if (const Json fit = model.value("fit", Json()); fit.is_object() && fit.contains("loglik"))
        job->result["loglik"] = fit["loglik"];
    }
  }
  project_.save(*job);
  changed(*job);
}

void Api::job_action(Job& job, const Request& request, Reply reply) {
  const std::vector<std::string>& path = request.path;
  const std::string action = path.size() > 3 ? path[3] : "";
  if (path.size() > 4) return reply(failure(404, "there is nothing here"));
  const bool under_way = job.state == "queued" || job.state == "running";
  const Upload& upload = *project_.upload(job.upload);
  const files::path folder = project_.folder_of(job), model = folder / "model.json";
  if (request.method == "DELETE" && action.empty()) {
    if (under_way) return reply(failure(409, "this fit is under way: cancel it first"));
    project_.remove_job(job.id);
    list_changed();
    return reply(json({{"removed", path[2]}}));
  }
  if (request.method == "POST") {
    if (action == "cancel") {
      if (under_way && fits_.cancel(job.ticket)) {
        job.state = "cancelled";
        job.ended = now();
        job.message = "Cancelled before it began.";
        project_.save(job);
      }
      changed(job);
      return reply(json(describe(job)));
    }
    if (action == "again") {
      if (under_way) return reply(failure(409, "this fit is under way"));
      Json again = job.request;
      again["upload"] = job.upload;
      return reply(start(again));
    }
    if (action == "resume") {
      if (!can_resume(job)) return reply(failure(409, "this fit left no state to go on from: run it again"));
      job.state = "queued";
      job.ended = "";
      job.message.clear();
      project_.save(job);
      run(job.id, true);
      changed(job);
      return reply(json(describe(job)));
    }
    if (!files::exists(model)) return reply(failure(409, "this fit has no model"));
    if (action == "names") return name_groups(job, parse_body(request), std::move(reply));
    if (action == "ballot") return place_ballot(job, parse_body(request), std::move(reply));
    return reply(failure(404, "there is nothing here"));
  }
  if (request.method != "GET") return reply(failure(405, "only GET, POST and DELETE"));
  if (action.empty()) return reply(json(describe(job)));
  if (action == "log") return reply({.type = "text/plain; charset=utf-8", .body = read_whole(folder / "caucus.log", 1u << 20)});
  const bool comparison = files::exists(folder / "compare.json");
  const files::path result = comparison ? folder / "compare.json" : model;
  if (!files::exists(result)) return reply(failure(409, "this fit has no result"));
  if (action == "model")
    return reply({.file = result.string(), .download = file_stem(upload) + (comparison ? "-comparison.json" : "-model.json")});
  if (action == "memberships") {
    if (comparison) return reply(failure(409, "a comparison puts nobody into groups"));
    return made_file(job, {"assign", "model.json", upload.file, "--out", "members.csv"}, "members.csv", {model},
                     {.type = "text/csv; charset=utf-8", .download = file_stem(upload) + "-members.csv"}, std::move(reply));
  }
  std::vector<std::string> words{"report", result.filename().string()};
  std::vector<files::path> from{result};
  std::string file = "report.json";
  if (const auto other = request.query.find("with"); other != request.query.end()) {
    const Job* second = project_.job(other->second);
    if (!second || second->upload != job.upload || comparison || !files::exists(project_.folder_of(*second) / "model.json"))
      return reply(failure(404, "there is no such fit of this file"));
    from.push_back(project_.folder_of(*second) / "model.json");
    words = {"report", telling_name(folder, job, from[0], "a"), telling_name(folder, *second, from[1], "b")};
    file = "pair-" + second->id + ".json";
  }
  if (action == "page") file = files::path(file).replace_extension(".html").string();
  words.insert(words.end(), {"--data", upload.file, "--title=" + upload.name, "--out", file});
  // The page can draw far more points than a file that is mailed should hold.
  if (action == "report") words.insert(words.end(), {"--map-points", "100000"});
  if (action == "report") return made_file(job, words, file, from, {}, std::move(reply));
  if (action == "page")
    return made_file(job, words, file, from, {.type = "text/html; charset=utf-8", .download = file_stem(upload) + "-report.html"},
                     std::move(reply));
  reply(failure(404, "there is nothing here"));
}

void Api::made_file(const Job& job, std::vector<std::string> words, const std::string& file, std::vector<files::path> from,
                    Response response, Reply reply) {
  const files::path folder = project_.folder_of(job), path = folder / file;
  response.file = path.string();
  std::error_code missing;
  const auto made = files::last_write_time(path, missing);
  if (!missing && std::ranges::all_of(from, [&](const files::path& one) { return files::last_write_time(one) < made; }))
    return reply(response);
  questions_.add({.words = std::move(words), .folder = folder.string(), .patience = patience},
                 [response, reply](const Outcome& outcome) {
                   outcome.ok() ? reply(response) : reply(failure(422, why(outcome, outcome.err)));
                 });
}

void Api::name_groups(const Job& job, const Json& body, Reply reply) {
  std::vector<std::string> words{"name", "model.json", "--"};
  const Json names = body.value("names", Json());
  if (!names.is_array() || names.empty() || names.size() > 1000) throw std::invalid_argument("names: expected a list of names");
  for (const Json& name : names) {
    if (!name.is_string() || name.get<std::string>().size() > 200)
      throw std::invalid_argument("names: expected texts of up to 200 letters");
    words.push_back(name.get<std::string>());
  }
  questions_.add({.words = words, .folder = project_.folder_of(job).string(), .patience = patience},
                 [this, id = job.id, reply](const Outcome& outcome) {
                   if (!outcome.ok()) return reply(failure(422, why(outcome, outcome.err)));
                   if (Job* named = project_.job(id)) changed(*named);
                   reply(json({{"named", id}}));
                 });
}

void Api::place_ballot(const Job& job, const Json& body, Reply reply) {
  // Typed as text, or as a list of names: those may hold any letter, so they go through a file.
  std::vector<std::string> words{"assign", "model.json", "--json"};
  const files::path folder = project_.folder_of(job);
  files::path listed;
  if (const Json order = body.value("order", Json()); order.is_array()) {
    if (order.size() > 10000 || !std::ranges::all_of(order, [](const Json& one) { return one.is_string(); }))
      throw std::invalid_argument("order: expected names");
    listed = folder / fmt::format("pair-{}.jsonl", random_text(8));
    write_whole(listed, dump({{"ranking", order}}) + "\n");
    words.push_back(listed.filename().string());
  } else if (const Json ballot = body.value("ballot", Json()); ballot.is_string() && ballot.get<std::string>().size() <= 20000) {
    words.push_back("--ballot=" + ballot.get<std::string>());
  } else {
    throw std::invalid_argument("ballot: expected names, best first, with > between them");
  }
  questions_.add({.words = words, .folder = folder.string(), .patience = patience}, [listed, reply](const Outcome& outcome) {
    std::error_code ignored;
    if (!listed.empty()) files::remove(listed, ignored);
    outcome.ok() ? reply({.body = outcome.out}) : reply(failure(422, why(outcome, outcome.err)));
  });
}

}  // namespace caucus::serve
