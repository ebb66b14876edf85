// The web server, without a word of what it serves: connections, their limits, and who may ask. One thread; nothing here waits.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace caucus::serve {

struct Request {
  std::string method;
  std::vector<std::string> path;             // the words between slashes; only of letters, digits and hyphens
  std::map<std::string, std::string> query;  // decoded
  std::string body;                          // empty where the body was streamed
};

struct Response {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::string file = {};      // sent instead of the body where it is named
  std::string download = {};  // the name a browser should save it under
};
Response failure(unsigned status, std::string_view text);

using Reply = std::function<void(Response)>;

// Where the bytes of an upload go. Destroyed before the end, it leaves nothing behind.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual bool write(std::string_view piece) = 0;  // false: the disk is full
  virtual Response finish() = 0;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Answers now or later, once.
  virtual void handle(const Request& request, Reply reply) = 0;
  // Not null where this request's body is to be streamed; `refusal` says why where it cannot be.
  virtual std::unique_ptr<Sink> upload(const Request& request, Response& refusal) = 0;
  virtual bool is_upload(const Request& request) const = 0;
  // What changed since `seen`, as server-sent events; moves `seen` on. Empty: nothing.
  virtual std::string events(std::uint64_t& seen) = 0;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::set<std::string> host_names;  // names besides the address and localhost that a browser may call us by
  std::string token;
  std::uint64_t max_upload = 0;
  std::size_t max_connections = 200;
  int header_seconds = 10;  // for a request's head, and for each piece of its body or of an answer
  int piece_seconds = 30;
  int idle_seconds = 60;
  std::string_view page, page_policy;
};

class Server {
 public:
  // Listens from here on. Throws std::runtime_error where it cannot.
  Server(boost::asio::io_context& io, ServerOptions options, Handler& handler);
  ~Server();
  std::uint16_t port() const;
  void wake();  // something changed: tells those who listen to events

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace caucus::serve
