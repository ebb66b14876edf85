// The fitted model as a person wants to read it, from the model file's JSON alone.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "commands.h"

namespace caucus::cli {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_items = 20;
constexpr std::size_t most_groups = 12;

std::string plural(double count, const std::string& noun) { return fmt::format("{} {}{}", count, noun, count == 1.0 ? "" : "s"); }

std::vector<std::size_t> order_by(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

std::vector<double> numbers_of(const Json& object, const char* key) {
  std::vector<double> values;
  if (object.contains(key) && object[key].is_array())
    for (const Json& value : object[key]) values.push_back(value.is_number() ? value.get<double>() : std::nan(""));
  return values;
}

// Utilities, best first, with a 95 % interval and the chance to be first among all items.
std::string show_utilities(const Json& component, const std::vector<std::string>& names, std::size_t width, const Style& style) {
  const std::vector<double> utilities = numbers_of(component, "utilities");
  const std::vector<double> errors = numbers_of(component, "standard_errors");
  std::vector<bool> unbounded(utilities.size(), false);
  if (component.contains("unbounded"))
    for (const Json& item : component["unbounded"])
      if (item.is_number_unsigned() && item.get<std::size_t>() < unbounded.size()) unbounded[item.get<std::size_t>()] = true;

  double total = 0.0;
  const double largest = *std::max_element(utilities.begin(), utilities.end());
  for (double utility : utilities) total += std::exp(utility - largest);
  std::string text;
  std::size_t rank = 0;
  const std::vector<std::size_t> order = order_by(utilities);
  for (std::size_t item : order) {
    if (++rank > most_items) {
      text += fmt::format("      ... and {} more\n", order.size() - most_items);
      break;
    }
    const double share = std::exp(utilities[item] - largest) / total;
    constexpr double eighths_per_row = 24 * 8;
    const auto eighths = static_cast<std::size_t>(std::lround(std::exp(utilities[item] - largest) * eighths_per_row));
    static constexpr const char* parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    std::string bar;
    for (std::size_t i = 0; i < eighths / 8; ++i) bar += "█";
    bar += parts[eighths % 8];
    std::string interval;
    if (item < errors.size() && std::isfinite(errors[item])) interval = fmt::format(" ± {:.2f}", 1.96 * errors[item]);
    text += fmt::format("  {:>4}. {}  {:>+7.2f}{:<8} {:>5.1f}%  {}{}{}{}\n", rank, fit_width(names[item], width), utilities[item],
                        interval, 100.0 * share, style.bar, bar, style.reset, unbounded[item] ? "  (no finite estimate)" : "");
  }
  return text;
}

std::string show_consensus(const Json& component, const std::vector<std::string>& names) {
  std::string text = "    ";
  std::size_t shown = 0, column = 4;
  for (const Json& item : component["consensus"]) {
    if (shown == most_items) {
      text += " > ...";
      break;
    }
    const std::string& name = names.at(item.get<std::size_t>());
    if (shown > 0) text += " > ", column += 3;
    if (column + display_width(name) > 100) text += "\n      ", column = 6;
    text += name;
    column += display_width(name);
    ++shown;
  }
  return text + "\n";
}

}  // namespace

std::string show_fit(const Json& model, const Context& context) {
  const Style style(context.color_stdout());
  const Json& fit = model["fit"];
  std::vector<std::string> names;
  for (const Json& item : model["items"]) names.push_back(printable(item.get<std::string>()));
  std::size_t width = 4;
  for (const std::string& name : names) width = std::max(width, std::min<std::size_t>(36, display_width(name)));

  const Json& components = model["components"];
  std::string text =
      fmt::format("{}{} in {} of {} items{}   {}family {}, method {}, {:.3g} s{}\n", style.bold,
                  plural(static_cast<double>(components.size()), "group"), plural(fit["num_rankings"].get<double>(), "ranking"),
                  names.size(), style.reset, style.dim, model["family"].get<std::string>(), model["method"].get<std::string>(),
                  fit["seconds"].get<double>(), style.reset);
  text +=
      fmt::format("log-likelihood {:.4f}   BIC {:.1f}   AIC {:.1f}   {} parameters   {} after {} steps\n",
                  fit["loglik"].get<double>(), fit["bic"].get<double>(), fit["aic"].get<double>(),
                  fit["num_parameters"].get<std::int64_t>(), fit["stop_reason"].get<std::string>(), fit["iterations"].get<int>());
  bool utilities_shown = false;
  for (std::size_t k = 0; k < components.size(); ++k) {
    if (k == most_groups) {
      text += fmt::format("\n... and {} smaller groups, in the model file\n", components.size() - k);
      break;
    }
    const Json& component = components[k];
    std::string head = fmt::format("Group {}", k + 1);
    if (component.contains("weight")) head += fmt::format(", {:.1f} %", 100.0 * component["weight"].get<double>());
    if (component.contains("theta") && component["theta"].is_number())
      head += fmt::format(", theta {:.3f}", component["theta"].get<double>());
    text += fmt::format("\n{}{}{}\n", style.bold, head, style.reset);
    if (component.contains("utilities")) {
      text += show_utilities(component, names, width, style);
      utilities_shown = true;
    } else if (component.contains("consensus")) {
      text += show_consensus(component, names);
      if (component.contains("theta") && component["theta"].is_array()) {
        text += "    theta by rank:";
        const std::vector<double> thetas = numbers_of(component, "theta");
        for (std::size_t j = 0; j < std::min<std::size_t>(thetas.size(), 12); ++j) text += fmt::format(" {:.2f}", thetas[j]);
        text += thetas.size() > 12 ? " ...\n" : "\n";
      }
    }
  }
  if (utilities_shown)
    text += fmt::format("\n{}Columns: utility (log-worth, mean zero) ± 95 % interval; chance to be first among all items.{}\n",
                        style.dim, style.reset);
  return text;
}

}  // namespace caucus::cli
