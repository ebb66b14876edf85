#include "caucus/report/membership.h"

#include <fmt/format.h>

#include "caucus/infer/membership_logit.h"
#include "caucus/infer/membership_shares.h"

namespace caucus::report {

namespace {

// With [low, high], or without where the model has no errors.
Json estimate(double value, std::optional<double> error) {
  Json json = {{"value", rounded(value)}};
  if (error) json["low"] = rounded(value - 1.959964 * *error), json["high"] = rounded(value + 1.959964 * *error);
  return json;
}

}  // namespace

Json membership_json(const Membership& membership, const Dataset* data, std::size_t num_groups) {
  Json json = {{"formula", membership.design.formula()}, {"terms", Json::array()}, {"coefficients", Json::array()}};
  std::vector<MembershipShare> shares;
  std::vector<MembershipEffect> effects;
  if (data != nullptr && data->voters.given()) {
    shares = membership_shares(membership, *data);
    effects = membership_effects(membership, *data);
  }
  for (const DesignTerm& term : membership.design.terms()) {
    Json one = {{"name", term.name}, {"values", Json::array()}, {"words", Json::array()}};
    for (const Membership::Test& test : membership.tests)
      if (test.term == term.name) one["p_value"] = rounded(test.p_value);
    std::vector<MembershipEffect> own;
    for (const MembershipEffect& effect : effects)
      if (effect.term == term.name) own.push_back(effect);
    one["words"] = effect_sentences(own, membership);
    for (const MembershipShare& share : shares) {
      if (share.term != term.name || share.group >= num_groups) continue;
      if (share.group == 0) one["values"].push_back({{"value", share.value}, {"groups", Json::array()}});
      one["values"].back()["groups"].push_back(
          {{"share", rounded(share.share)}, {"low", rounded(share.low)}, {"high", rounded(share.high)}});
    }
    json["terms"].push_back(std::move(one));
  }
  for (std::size_t j = 0; j < membership.num_columns(); ++j) {
    Json column = {{"column", membership.design.names()[j]}, {"groups", Json::array()}};
    for (std::size_t k = 0; k < num_groups; ++k)
      column["groups"].push_back(
          estimate(membership.coefficients[k * membership.num_columns() + j], membership.standard_error(k, j)));
    json["coefficients"].push_back(std::move(column));
  }
  if (membership.ridge > 0.0) json["ridge"] = membership.ridge;
  return json;
}

std::vector<std::string> membership_sentences(const Json& membership) {
  std::vector<std::string> sentences;
  std::string silent;
  for (const Json& term : membership["terms"]) {
    const auto name = term["name"].get<std::string>();
    if (term.contains("p_value") && term["p_value"].get<double>() > 0.05) {
      silent += (silent.empty() ? "" : ", ") + name;
      continue;
    }
    for (const Json& words : term["words"]) sentences.push_back(words.get<std::string>() + ".");
  }
  if (!silent.empty()) sentences.push_back(fmt::format("Nothing shows that it matters for the groups: {}.", silent));
  return sentences;
}

Json item_values_json(const ItemUtilities& known, std::size_t num_groups) {
  Json json = {{"formula", known.design.formula()}, {"coefficients", Json::array()}};
  for (std::size_t j = 0; j < known.design.num_columns(); ++j) {
    Json column = {{"column", known.design.names()[j]}, {"groups", Json::array()}};
    for (std::size_t k = 0; k < num_groups; ++k) {
      const double error = known.errors[k][j];
      column["groups"].push_back(estimate(known.coefficients[k][j], std::isfinite(error) ? std::optional(error) : std::nullopt));
    }
    json["coefficients"].push_back(std::move(column));
  }
  return json;
}

}  // namespace caucus::report
