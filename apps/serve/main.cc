// caucus-serve: a local page to explore in. 'caucus serve' runs it.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "api.h"

namespace caucus::serve_page {  // written by web/tools/bundle.mjs
extern const unsigned char page[];
extern const unsigned long page_size;
extern const char policy[];
}  // namespace caucus::serve_page

namespace {

namespace asio = boost::asio;
using namespace caucus::serve;

struct Flags {
  std::string folder = "caucus-project", address = "127.0.0.1", program;
  std::uint16_t port = 8271;
  std::vector<std::string> host_names;
  std::uint64_t max_upload = 2048, memory = 0;
  std::size_t fits = 1, connections = 200;
  bool quiet = false;
};

// What a short command prints; nothing where it fails.
std::optional<std::string> ask(asio::io_context& io, const std::string& program, std::vector<std::string> words) {
  Lane lane(io, program, 1, 0);
  std::optional<std::string> said;
  lane.add({.words = std::move(words), .folder = ".", .patience = std::chrono::seconds(60)}, [&](const Outcome& outcome) {
    if (outcome.ok()) said = outcome.out;
  });
  io.run();
  io.restart();
  return said;
}

// Where others reach a server that listens on every address of this machine.
std::vector<std::string> addresses_of_machine() {
  std::vector<std::string> addresses;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    std::array<char, INET_ADDRSTRLEN> text{};
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text.data(), text.size());
    addresses.emplace_back(text.data());
  }
  freeifaddrs(first);
  return addresses;
}

int run(Flags flags) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (flags.program.empty()) flags.program = (here / "caucus").string();
  flags.program = std::filesystem::absolute(flags.program).string();
  asio::io_context io(1);
  Abilities abilities;
  const auto must_ask = [&](std::vector<std::string> words) {
    if (const auto said = ask(io, flags.program, std::move(words))) return *said;
    throw std::runtime_error(fmt::format("{}: expected the program caucus here, which does the work", flags.program));
  };
  abilities.families = Json::parse(must_ask({"families", "--json"})).at("families");
  abilities.read_flags = flags_in(must_ask({"info", "--help"}));
  for (const char* command : {"fit", "select", "compare"}) abilities.flags[command] = flags_in(must_ask({command, "--help"}));
  umask(077);  // ballots are nobody else's business
  Project project(flags.folder);
  if (flags.memory == 0) {
    struct sysinfo machine {};
    sysinfo(&machine);
    flags.memory = (static_cast<std::uint64_t>(machine.totalram) * machine.mem_unit >> 20) / 2;
  }
  Api api(io, project, std::move(abilities), {.program = flags.program, .fits_at_once = flags.fits, .memory = flags.memory << 20});
  ServerOptions options;
  options.address = flags.address;
  options.port = flags.port;
  options.host_names = {flags.host_names.begin(), flags.host_names.end()};
  options.token = random_text(32);
  options.max_upload = flags.max_upload << 20;
  options.max_connections = flags.connections;
  options.page = {reinterpret_cast<const char*>(caucus::serve_page::page), caucus::serve_page::page_size};
  options.page_policy = caucus::serve_page::policy;
  const std::string token = options.token;
  Server server(io, std::move(options), api);
  api.on_change([&server] { server.wake(); });

  const bool everywhere = flags.address == "0.0.0.0" || flags.address == "::";
  const std::string shown = everywhere                                     ? "localhost"
                            : flags.address.find(':') != std::string::npos ? "[" + flags.address + "]"
                                                                           : flags.address;
  fmt::print("Open http://{}:{}/#{}\n", shown, server.port(), token);
  std::fflush(stdout);
  if (!flags.quiet) {
    fmt::print(stderr, "Files and fits are kept in {}. Ctrl-C ends the server.\n",
               std::filesystem::absolute(flags.folder).string());
    if (everywhere)
      for (const std::string& one : addresses_of_machine())
        fmt::print(stderr, "From elsewhere: http://{}:{}/#{}\n", one, server.port(), token);
    if (!asio::ip::make_address(flags.address).is_loopback())
      fmt::print(stderr,
                 "warning: others on the network can reach this page; its address is all they need, and it travels unencrypted.\n");
  }
  asio::signal_set signals(io, SIGINT, SIGTERM);
  asio::steady_timer last(io);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (error) return;
    api.stop();
    last.expires_after(std::chrono::milliseconds(300));
    last.async_wait([&](boost::system::error_code) { io.stop(); });
  });
  io.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app{
      "Opens a local page to explore ranked data in: drop a file, see what was understood, fit, look, leave with the model.",
      "caucus serve"};
  app.add_option("folder", flags.folder, "where files and fits are kept; made where it is missing")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.add_option("--port", flags.port, "port to listen on; 0: any that is free")->capture_default_str();
  app.add_option("--address", flags.address, "address to listen on; others than this machine can then come in")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--host-name", flags.host_names, "a name browsers may call this server by, besides its address and localhost")
      ->type_name("NAME");
  app.add_option("--fits", flags.fits, "fits that run at the same time; others wait")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--memory", flags.memory, "MB that one command may take [half of the machine's]");
  app.add_option("--max-upload", flags.max_upload, "MB of the largest file taken")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--connections", flags.connections, "connections at the same time")
      ->check(CLI::Range(4, 800))
      ->capture_default_str();
  app.add_option("--caucus", flags.program, "the program that does the work [caucus beside this one]")->type_name("FILE");
  app.add_flag("-q,--quiet", flags.quiet, "the address alone");
  app.set_version_flag("--version", std::string("caucus-serve ") + CAUCUS_VERSION);
  app.footer(
      "Examples:\n  caucus serve                       a new project in ./caucus-project\n  caucus serve elections --port 9000\n");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    fmt::print(stderr, "caucus: {}\ncaucus: see 'caucus serve --help'\n", wrong.what());
    return 64;
  }
  boost::system::error_code no_address;
  asio::ip::make_address(flags.address, no_address);
  if (no_address) {
    fmt::print(stderr, "caucus: --address '{}' is no address: give one of this machine's, as in 192.168.1.5, or 0.0.0.0 for all\n",
               flags.address);
    return 64;
  }
  try {
    return run(std::move(flags));
  } catch (const std::exception& failed) {
    fmt::print(stderr, "caucus: {}\n", failed.what());
    return 74;
  }
}
