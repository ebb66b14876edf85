#include "caucus/infer/pl_regression/chains.h"

namespace caucus::pl_regression {

namespace {
constexpr const char* format_name = "caucus.regression-checkpoint/1";
}

std::vector<double> Posterior::mean() const {
  std::vector<double> result(num_coefficients, 0.0);
  double count = 0.0;
  for (const ChainDraws& draws : chains) {
    count += static_cast<double>(draws.num_summed);
    for (std::size_t j = 0; j < num_coefficients; ++j) result[j] += draws.sum[j];
  }
  for (double& value : result) value /= std::max(count, 1.0);
  return result;
}

double Posterior::hyper_mean() const {
  double sum = 0.0, count = 0.0;
  for (const ChainDraws& draws : chains) sum += draws.hyper_sum, count += static_cast<double>(draws.num_summed);
  return sum / std::max(count, 1.0);
}

std::vector<double> Posterior::median() const {
  std::vector<double> result(num_coefficients, 0.0);
  std::vector<float> values;
  for (std::size_t j = 0; j < num_coefficients; ++j) {
    values.clear();
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (std::size_t d = 0; d < num_draws(c); ++d) values.push_back(draw(c, d)[j]);
    if (values.empty()) continue;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    result[j] = static_cast<double>(*middle);
    if (values.size() % 2 == 0) result[j] = 0.5 * (result[j] + static_cast<double>(*std::max_element(values.begin(), middle)));
  }
  return result;
}

std::string encode_checkpoint(const std::string& key, const ChainPlan& plan, const Posterior& posterior,
                              const nlohmann::json& chains) {
  nlohmann::json json{
      {"format", format_name}, {"key", key}, {"burnin", plan.burnin}, {"thin", plan.thin}, {"iterations", posterior.iterations},
      {"states", chains}};
  for (const ChainDraws& draws : posterior.chains)
    json["draws"].push_back({{"values", to_bytes(std::span(draws.values))},
                             {"hyper", to_bytes(std::span(draws.hyper))},
                             {"loglik", to_bytes(std::span(draws.loglik))},
                             {"sum", to_bytes(std::span(draws.sum))},
                             {"hyper_sum", to_bytes(std::span(&draws.hyper_sum, 1))},
                             {"num_summed", draws.num_summed}});
  std::string text;
  nlohmann::json::to_cbor(json, text);
  return text;
}

nlohmann::json decode_checkpoint(const std::string& text, const std::string& key, const ChainPlan& plan, Posterior& posterior) {
  try {
    nlohmann::json json = nlohmann::json::from_cbor(text);
    if (json.at("format") != format_name) throw DataError("not a checkpoint of a regression");
    if (json.at("key") != key || json.at("burnin") != plan.burnin || json.at("thin") != plan.thin ||
        json.at("states").size() != posterior.chains.size())
      throw DataError(
          "the checkpoint belongs to other data, another seed or other options; remove it, or repeat the command it came from");
    posterior.iterations = json.at("iterations").get<int>();
    for (std::size_t c = 0; c < posterior.chains.size(); ++c) {
      const nlohmann::json& from = json.at("draws").at(c);
      ChainDraws& draws = posterior.chains[c];
      draws.values = vector_from_bytes<float>(from.at("values"));
      draws.hyper = vector_from_bytes<double>(from.at("hyper"));
      draws.loglik = vector_from_bytes<double>(from.at("loglik"));
      from_bytes(from.at("sum"), std::span(draws.sum));
      from_bytes(from.at("hyper_sum"), std::span(&draws.hyper_sum, 1));
      draws.num_summed = from.at("num_summed").get<std::int64_t>();
    }
    return std::move(json.at("states"));
  } catch (const nlohmann::json::exception&) {
    throw DataError("damaged, or not a checkpoint of a regression; remove it to start anew");
  }
}

}  // namespace caucus::pl_regression
