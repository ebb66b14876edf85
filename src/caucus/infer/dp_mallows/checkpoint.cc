#include "caucus/infer/dp_mallows/checkpoint.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "caucus/base/error.h"
#include "caucus/data/checksum.h"
#include "caucus/io/io.h"

namespace caucus::dp_mallows {

namespace {

using nlohmann::json;

template <class T>
json to_bytes(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return json::binary(std::move(bytes));
}

template <class T>
std::vector<T> from_bytes(const json& value) {
  const auto& bytes = value.get_binary();
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

template <class T>
json list_to_bytes(const std::vector<std::vector<T>>& lists) {
  json result = json::array();
  for (const auto& list : lists) result.push_back(to_bytes(list));
  return result;
}

template <class T>
std::vector<std::vector<T>> list_from_bytes(const json& lists) {
  std::vector<std::vector<T>> result;
  for (const auto& list : lists) result.push_back(from_bytes<T>(list));
  return result;
}

json to_json(const ChainRecord& record) {
  json draws = json::array();
  for (const Draw& draw : record.draws)
    draws.push_back(
        {draw.chain, draw.iteration, draw.num_clusters, to_bytes(std::vector{draw.log_joint, draw.alpha, draw.largest_share})});
  json predictive = json::array();
  for (const PredictiveDraw& draw : record.predictive) {
    json clusters = json::array();
    for (const PredictiveCluster& cluster : draw.clusters)
      clusters.push_back({to_bytes(cluster.order), cluster.size, to_bytes(cluster.sums), to_bytes(cluster.counts)});
    predictive.push_back({to_bytes(std::vector{draw.alpha}), std::move(clusters)});
  }
  return {{"sweeps", record.sweeps},
          {"labels", to_bytes(record.state.labels)},
          {"centers", list_to_bytes(record.state.centers)},
          {"theta", list_to_bytes(record.state.theta)},
          {"alpha", to_bytes(std::vector{record.state.alpha})},
          {"drawn", record.state.drawn},
          {"trace", list_to_bytes(std::vector{record.trace.num_clusters, record.trace.log_joint, record.trace.alpha})},
          {"draws", std::move(draws)},
          {"assignments", list_to_bytes(record.assignments)},
          {"predictive", std::move(predictive)}};
}

ChainRecord from_json(const json& value) {
  ChainRecord record;
  record.sweeps = value.at("sweeps").get<int>();
  record.state.labels = from_bytes<std::uint32_t>(value.at("labels"));
  record.state.centers = list_from_bytes<Item>(value.at("centers"));
  record.state.theta = list_from_bytes<double>(value.at("theta"));
  record.state.alpha = from_bytes<double>(value.at("alpha")).at(0);
  record.state.drawn = value.at("drawn").get<std::uint64_t>();
  auto traces = list_from_bytes<double>(value.at("trace"));
  record.trace = {std::move(traces.at(0)), std::move(traces.at(1)), std::move(traces.at(2))};
  for (const auto& draw : value.at("draws")) {
    const auto numbers = from_bytes<double>(draw.at(3));
    record.draws.push_back({draw.at(0).get<int>(), draw.at(1).get<int>(), draw.at(2).get<std::uint32_t>(), numbers.at(0),
                            numbers.at(1), numbers.at(2)});
  }
  record.assignments = list_from_bytes<std::uint32_t>(value.at("assignments"));
  for (const auto& draw : value.at("predictive")) {
    PredictiveDraw one;
    one.alpha = from_bytes<double>(draw.at(0)).at(0);
    for (const auto& cluster : draw.at(1))
      one.clusters.push_back({from_bytes<Item>(cluster.at(0)), cluster.at(1).get<double>(), from_bytes<double>(cluster.at(2)),
                              from_bytes<double>(cluster.at(3))});
    record.predictive.push_back(std::move(one));
  }
  return record;
}

}  // namespace

std::string checkpoint_key(const Dataset& data, const Options& options, std::uint64_t seed) {
  std::string key = fmt::format("caucus dpm checkpoint 1; seed {}; data {}", seed, digest(data));
  for (const auto& [name, value] : show_options(options)) {
    // Files and the length of the run may change between parts of a run; so may what is only computed at its end.
    if (name == "sweeps" || name == "checkpoint" || name == "checkpoint-every" || name == "draws" || name == "draw-assignments" ||
        name == "draws-cmdstan" || name == "co-clustering")
      continue;
    key += fmt::format("; {} {}", name, value);
  }
  return key;
}

void write_checkpoint(const std::string& path, const std::string& key, const std::vector<ChainRecord>& chains) {
  json content{{"key", key}, {"chains", json::array()}};
  for (const ChainRecord& record : chains) content["chains"].push_back(to_json(record));
  const std::vector<std::uint8_t> bytes = json::to_cbor(content);
  const std::string_view body(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  write_file(path, checksum(body) + std::string(body));
}

std::vector<ChainRecord> read_checkpoint(const std::string& path, const std::string& key) {
  if (!std::filesystem::exists(path)) return {};
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // The checksum goes before the content: one changed byte, or a missing end, and nothing in it is to be trusted.
  const std::size_t head = checksum({}).size();
  if (bytes.size() < head || checksum(std::string_view(bytes).substr(head)) != bytes.substr(0, head))
    throw DataError(fmt::format("{}: not a checkpoint of dpm, or a damaged one; remove it or name another file", path));
  const json content = json::from_cbor(bytes.begin() + static_cast<std::ptrdiff_t>(head), bytes.end(), true, false);
  if (content.is_discarded() || !content.is_object() || !content.contains("key") || !content.contains("chains"))
    throw DataError(fmt::format("{}: not a checkpoint of dpm; remove it or name another file", path));
  if (content.at("key") != key)
    throw DataError(
        fmt::format("{}: the checkpoint is of other data, another seed or other options; remove it or name another file", path));
  std::vector<ChainRecord> chains;
  try {
    for (const auto& chain : content.at("chains")) chains.push_back(from_json(chain));
  } catch (const std::exception&) {
    throw DataError(fmt::format("{}: the checkpoint is damaged; remove it to start anew", path));
  }
  return chains;
}

}  // namespace caucus::dp_mallows
