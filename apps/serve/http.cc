#include "http.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <limits>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace caucus::serve {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Error = boost::system::error_code;

namespace {

constexpr std::size_t most_head = 16 * 1024;    // bytes of a request's head
constexpr std::size_t most_body = 1024 * 1024;  // bytes of a body that is no upload
constexpr std::size_t most_drained = 64 * 1024 * 1024;
constexpr std::size_t most_listeners = 50;

// Takes as long for a wrong token as for a right one of the same length.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    difference |= static_cast<unsigned char>(b[i]) ^ static_cast<unsigned char>(i < a.size() ? a[i] : 0);
  return difference == 0;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = digit(text[i + 1]), low = digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    result += static_cast<char>(16 * high + low);
    i += 2;
  }
  return result;
}

// The target's words. Nothing where one of them holds anything but letters, digits and hyphens: so no dots, no escapes, no way up.
std::optional<Request> parse_target(std::string_view method, std::string_view target) {
  Request request;
  request.method = method;
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(0, mark), query = mark < target.size() ? target.substr(mark + 1) : std::string_view();
  if (!path.starts_with('/')) return std::nullopt;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view word = path.substr(0, end);
    const bool plain =
        std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
    if (!plain || (word.empty() && (end < path.size() || !request.path.empty()))) return std::nullopt;
    if (!word.empty()) request.path.emplace_back(word);
    path.remove_prefix(end);
  }
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = decoded(pair.substr(0, equals)),
               value = decoded(equals < pair.size() ? pair.substr(equals + 1) : std::string_view());
    if (!name || !value) return std::nullopt;
    request.query[*name] = *value;
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return request;
}

// As browsers write it; port 0: none.
std::string host_name(asio::ip::address address, unsigned port) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  const std::string name = address.is_v6() ? fmt::format("[{}]", address.to_string()) : address.to_string();
  return port == 0 ? name : fmt::format("{}:{}", name, port);
}

}  // namespace

Response failure(unsigned status, std::string_view text) {
  return {.status = status,
          .body = nlohmann::json({{"error", text}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

class Connection;

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(asio::io_context& context, ServerOptions given, Handler& answers)
      : io(context), acceptor(context), pause(context), options(std::move(given)), handler(answers) {}
  void accept();
  // By a name we go by, or by the very address this client came in at: no name can be made to point there, as it is none.
  bool allows_host(std::string_view host, const tcp::socket& socket) const {
    if (hosts.contains(std::string(host))) return true;
    Error gone;
    const tcp::endpoint here = socket.local_endpoint(gone);
    return !gone && (host == host_name(here.address(), here.port()) || (here.port() == 80 && host == host_name(here.address(), 0)));
  }

  asio::io_context& io;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  ServerOptions options;
  Handler& handler;
  std::set<std::string> hosts;         // with the port, as browsers write them
  std::list<Connection*> connections;  // oldest first
  std::size_t listeners = 0;
};

// One client. Its timer closes the socket when it waits too long; whatever else happens, the last handler lets it go.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<Server::State> server)
      : socket_(std::move(socket)),
        timer_(server->io),
        buffer_(most_head),
        server_(std::move(server)),
        place_(server_->connections.insert(server_->connections.end(), this)) {}
  ~Connection() {
    server_->connections.erase(place_);
    if (listening_) --server_->listeners;
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { read_head(server_->options.header_seconds); }
  bool can_make_room() const { return !trusted_ && socket_.is_open(); }
  void close() {
    Error ignored;
    timer_.cancel();
    socket_.close(ignored);
  }
  void wake() {
    if (listening_ && !writing_) send_events();
  }

 private:
  void within(int seconds) {
    timer_.expires_after(std::chrono::seconds(seconds));
    timer_.async_wait([self = weak_from_this(), turn = ++turn_](Error error) {
      const auto connection = self.lock();
      if (!error && connection && connection->turn_ == turn) connection->close();
    });
  }
  void whenever() { ++turn_, timer_.cancel(); }

  void read_head(int seconds) {
    parser_.emplace();
    parser_->header_limit(most_head);
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());  // checked here, so that a refusal can say why
    within(seconds);
    http::async_read_header(socket_, buffer_, *parser_,
                            [self = shared_from_this()](Error error, std::size_t) { self->on_head(error); });
  }

  void on_head(Error error) {
    if (error == http::error::header_limit) return refuse(failure(431, "the head of this request is too long"));
    if (error == http::error::end_of_stream || error.category() != make_error_code(http::error::bad_method).category()) {
      if (error) return close();
    }
    if (error) return refuse(failure(400, "this is no HTTP request"));
    const auto& head = parser_->get();
    const auto field = [&](auto name) {
      const auto value = head[name];
      return std::string_view(value.data(), value.size());
    };
    const std::string_view host = field(http::field::host), origin = field(http::field::origin), site = field("Sec-Fetch-Site");
    if (!server_->allows_host(host, socket_)) return refuse(failure(403, "this server does not go by that name"));
    if (head.count(http::field::origin) > 0 && origin != fmt::format("http://{}", host))
      return refuse(failure(403, "asked from another page"));
    auto request =
        parse_target({head.method_string().data(), head.method_string().size()}, {head.target().data(), head.target().size()});
    if (!request) return refuse(failure(404, "there is nothing here"));
    request_ = std::move(*request);
    if (request_.path.empty()) {
      if (request_.method != "GET") return refuse(failure(405, "only GET"));
      if (head.has_content_length() || head.chunked()) return refuse(failure(400, "a page is asked for without a body"));
      return send_page();
    }
    if (request_.path[0] != "api") return refuse(failure(404, "there is nothing here"));
    if (!site.empty() && site != "same-origin") return refuse(failure(403, "asked from another page"));
    if (!same_secret(field("X-Caucus-Token"), server_->options.token))
      return refuse(failure(401, "wrong token: open the address that caucus serve printed last"));
    trusted_ = true;
    if (request_.path == std::vector<std::string>{"api", "events"}) return listen();
    const bool streamed = server_->handler.is_upload(request_);
    left_ = streamed ? server_->options.max_upload : most_body;
    if (parser_->content_length() && *parser_->content_length() > left_)
      return refuse(failure(413, streamed
                                     ? fmt::format("the file is larger than the {} MB that this server takes; see --max-upload",
                                                   server_->options.max_upload >> 20)
                                     : "the request is too long"));
    if (streamed) {
      Response refusal;
      sink_ = server_->handler.upload(request_, refusal);
      if (!sink_) return refuse(std::move(refusal));
    }
    if (beast::iequals(head[http::field::expect], "100-continue")) {
      static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      within(server_->options.piece_seconds);
      asio::async_write(socket_, asio::buffer(go_on),
                        [self = shared_from_this()](Error failed, std::size_t) { failed ? self->close() : self->read_body(); });
      return;
    }
    read_body();
  }

  void read_body() {
    if (parser_->is_done()) return on_body();
    parser_->get().body().data = piece_.data();
    parser_->get().body().size = piece_.size();
    within(server_->options.piece_seconds);
    http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](Error error, std::size_t) {
      if (error && error != http::error::need_buffer) return self->drop();
      const std::size_t size = self->piece_.size() - self->parser_->get().body().size;
      if (size > self->left_) return self->refuse(failure(413, "the request is too long"));
      self->left_ -= size;
      const std::string_view piece(self->piece_.data(), size);
      if (!self->sink_)
        self->request_.body += piece;
      else if (!self->sink_->write(piece))
        return self->refuse(failure(507, "the file could not be written: is the disk full?"));
      self->read_body();
    });
  }
  void drop() {
    sink_.reset();
    close();
  }

  void on_body() {
    whenever();
    if (sink_) {
      Response response = sink_->finish();
      sink_.reset();
      return send(std::move(response));
    }
    // The answer may come from a process that takes its time; the client may be gone by then.
    server_->handler.handle(request_, [self = shared_from_this()](Response response) { self->send(std::move(response)); });
  }

  void send_page() {
    Response response{.type = "text/html; charset=utf-8", .body = std::string(server_->options.page)};
    send(std::move(response), server_->options.page_policy);
  }
  // Answers before the body was read, and ends the connection: what is still coming would be taken for another request.
  void refuse(Response response) {
    sink_.reset();
    closing_ = true;
    send(std::move(response));
  }

  template <class Message>
  void set_fields(Message& message, const Response& response, std::string_view policy) {
    const auto text = [](std::string_view view) { return beast::string_view(view.data(), view.size()); };
    message.set(http::field::content_type, text(response.type));
    message.set("Content-Security-Policy", text(policy));
    message.set("X-Content-Type-Options", "nosniff");
    message.set("X-Frame-Options", "DENY");
    message.set("Referrer-Policy", "no-referrer");
    message.set("Cross-Origin-Resource-Policy", "same-origin");
    message.set("Cross-Origin-Opener-Policy", "same-origin");
    message.set(http::field::cache_control, "no-store");
    if (!response.download.empty())
      message.set(http::field::content_disposition, text(fmt::format("attachment; filename=\"{}\"", response.download)));
    message.keep_alive(!closing_ && parser_->keep_alive());
    closing_ = !message.keep_alive();
  }

  void send(Response response, std::string_view policy = "default-src 'none'; frame-ancestors 'none'") {
    if (!socket_.is_open()) return;
    if (!response.file.empty()) {
      auto message = std::make_shared<http::response<http::file_body>>(static_cast<http::status>(response.status), 11u);
      Error error;
      message->body().open(response.file.c_str(), beast::file_mode::scan, error);
      if (error) return send(failure(404, "this file is gone"));
      set_fields(*message, response, policy);
      message->prepare_payload();
      return write(message, std::make_shared<http::response_serializer<http::file_body>>(*message));
    }
    auto message = std::make_shared<http::response<http::string_body>>(static_cast<http::status>(response.status), 11u);
    set_fields(*message, response, policy);
    message->body() = std::move(response.body);
    message->prepare_payload();
    write(message, std::make_shared<http::response_serializer<http::string_body>>(*message));
  }

  // Piece by piece, each with its own time: a large file to a slow client may take long, a stuck client may not.
  template <class Message, class Serializer>
  void write(std::shared_ptr<Message> message, std::shared_ptr<Serializer> serializer) {
    within(server_->options.piece_seconds);
    http::async_write_some(socket_, *serializer, [self = shared_from_this(), message, serializer](Error error, std::size_t) {
      if (error) return self->close();
      if (!serializer->is_done()) return self->write(message, serializer);
      if (!self->closing_) return self->read_head(self->server_->options.idle_seconds);
      self->shut_down();
    });
  }

  // Closing with unread bytes would take our answer back on its way; so read on for a moment.
  void shut_down() {
    Error ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    within(2);
    drain(most_drained);
  }
  void drain(std::size_t left) {
    socket_.async_read_some(asio::buffer(piece_), [self = shared_from_this(), left](Error error, std::size_t size) {
      if (error || size >= left) return self->close();
      self->drain(left - size);
    });
  }

  // Server-sent events, until the client goes.
  void listen() {
    if (server_->listeners >= most_listeners) return refuse(failure(503, "too many pages are open"));
    listening_ = true;
    ++server_->listeners;
    socket_.async_read_some(asio::buffer(piece_), [self = shared_from_this()](Error, std::size_t) { self->close(); });
    text_ =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n: hello\n\n";
    write_text();
  }
  void send_events() {
    text_ = server_->handler.events(seen_);
    if (!text_.empty()) return write_text();
    // A comment now and then tells a client that is gone from one that has nothing to hear.
    timer_.expires_after(std::chrono::seconds(15));
    timer_.async_wait([self = weak_from_this(), turn = ++turn_](Error error) {
      const auto connection = self.lock();
      if (error || !connection || connection->turn_ != turn) return;
      connection->text_ = ": still here\n\n";
      connection->write_text();
    });
  }
  void write_text() {
    writing_ = true;
    within(server_->options.piece_seconds);
    asio::async_write(socket_, asio::buffer(text_), [self = shared_from_this()](Error error, std::size_t) {
      self->writing_ = false;
      if (error) return self->close();
      self->send_events();
    });
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  std::uint64_t turn_ = 0;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::buffer_body>> parser_;
  Request request_;
  std::unique_ptr<Sink> sink_;
  std::uint64_t left_ = 0;
  std::array<char, 64 * 1024> piece_;
  bool trusted_ = false, closing_ = false, listening_ = false, writing_ = false;
  std::uint64_t seen_ = 0;
  std::string text_;
  std::shared_ptr<Server::State> server_;
  std::list<Connection*>::iterator place_;
};

void Server::State::accept() {
  acceptor.async_accept([self = shared_from_this()](Error error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {  // out of descriptors: try again when some may be free
      self->pause.expires_after(std::chrono::milliseconds(100));
      self->pause.async_wait([self](Error stopped) {
        if (!stopped) self->accept();
      });
      return;
    }
    // When all places are taken the oldest client without the token makes room; those who hold it are never turned out.
    if (self->connections.size() >= self->options.max_connections) {
      const auto oldest = std::ranges::find_if(self->connections, [](const Connection* one) { return one->can_make_room(); });
      if (oldest != self->connections.end()) {
        (*oldest)->close();
      } else {
        Error ignored;
        socket.close(ignored);
      }
    }
    if (socket.is_open()) std::make_shared<Connection>(std::move(socket), self)->start();
    self->accept();
  });
}

Server::Server(asio::io_context& io, ServerOptions options, Handler& handler)
    : state_(std::make_shared<State>(io, std::move(options), handler)) {
  const auto address = asio::ip::make_address(state_->options.address);
  const tcp::endpoint endpoint(address, state_->options.port);
  try {
    state_->acceptor.open(endpoint.protocol());
    state_->acceptor.set_option(asio::socket_base::reuse_address(true));
    state_->acceptor.bind(endpoint);
    state_->acceptor.listen(1024);
  } catch (const boost::system::system_error& failed) {
    throw std::runtime_error(
        fmt::format("cannot listen on {} port {}: {}", state_->options.address, state_->options.port, failed.code().message()));
  }
  std::set<std::string> names = state_->options.host_names;
  names.insert({"localhost", host_name(address, 0)});
  for (const std::string& name : names) {
    state_->hosts.insert(fmt::format("{}:{}", name, port()));
    if (port() == 80) state_->hosts.insert(name);
  }
  state_->accept();
}

Server::~Server() {
  Error ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}
std::uint16_t Server::port() const { return state_->acceptor.local_endpoint().port(); }
void Server::wake() {
  for (Connection* connection : state_->connections) connection->wake();
}

}  // namespace caucus::serve
