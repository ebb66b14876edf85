// What the page may ask for. Every answer is a file of the project or comes from a command of caucus.
#pragma once

#include "child.h"
#include "http.h"
#include "project.h"
#include "words.h"

namespace caucus::serve {

struct ApiOptions {
  std::string program;  // caucus
  std::size_t fits_at_once = 1;
  std::uint64_t memory = 0;     // bytes of address space for each command; 0: no limit
  std::size_t most_jobs = 500;  // kept in a project, finished or not
};

class Api : public Handler {
 public:
  Api(boost::asio::io_context& io, Project& project, Abilities abilities, ApiOptions options);
  void on_change(std::function<void()> wake) { wake_ = std::move(wake); }
  void stop();  // ends what runs; the jobs stay, as interrupted

  void handle(const Request& request, Reply reply) override;
  bool is_upload(const Request& request) const override;
  std::unique_ptr<Sink> upload(const Request& request, Response& refusal) override;
  std::string events(std::uint64_t& seen) override;

 private:
  void read_upload(const Upload& upload, const Json& body, Reply reply);
  Response start(const Json& request);
  void run(const std::string& id, bool resuming = false);
  void ended(const std::string& id, const Outcome& outcome);
  void job_action(Job& job, const Request& request, Reply reply);
  void name_groups(const Job& job, const Json& body, Reply reply);
  void place_ballot(const Job& job, const Json& body, Reply reply);
  // A file that a command makes from the job's model: made anew where the model changed since.
  void made_file(const Job& job, std::vector<std::string> words, const std::string& file, std::vector<std::filesystem::path> from,
                 Response response, Reply reply);
  Json describe(const Job& job) const;
  Json describe(const Upload& upload) const;
  bool can_resume(const Job& job) const;
  void changed(Job& job);
  void list_changed();

  Project& project_;
  Abilities abilities_;
  ApiOptions options_;
  Lane fits_, questions_;
  std::function<void()> wake_;
  std::uint64_t version_ = 1, list_version_ = 1;
  bool stopping_ = false;
};

}  // namespace caucus::serve
