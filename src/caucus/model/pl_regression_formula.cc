#include "caucus/model/pl_regression_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "caucus/base/error.h"

namespace caucus {

class FormulaParser {
 public:
  FormulaParser(std::string_view text, std::span<const std::string> names) : text_(text), names_(names) {}

  Formula run() {
    formula_.root_ = sum();
    skip_blanks();
    if (at_ < text_.size()) fail(fmt::format("'{}' is not expected here", text_[at_]));
    return std::move(formula_);
  }

 private:
  using Op = Formula::Op;
  static constexpr int max_depth = 200;

  [[noreturn]] void fail(std::string_view what) const {
    throw UsageError(fmt::format("features: '{}', character {}: {}", text_, at_ + 1, what));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::size_t add(Formula::Node node) {
    formula_.nodes_.push_back(std::move(node));
    return formula_.nodes_.size() - 1;
  }
  std::size_t binary(Op op, std::size_t left, std::size_t right) { return add({op, 0.0, 0, {left, right}}); }

  std::size_t sum() {
    if (++depth_ > max_depth) fail("too deeply nested");
    std::size_t left = product();
    for (;;) {
      if (take('+'))
        left = binary(Op::add, left, product());
      else if (take('-'))
        left = binary(Op::subtract, left, product());
      else
        break;
    }
    --depth_;
    return left;
  }
  std::size_t product() {
    std::size_t left = factor();
    for (;;) {
      if (take('*'))
        left = binary(Op::multiply, left, factor());
      else if (take('/'))
        left = binary(Op::divide, left, factor());
      else
        return left;
    }
  }
  std::size_t factor() {
    if (take('-')) {
      if (++depth_ > max_depth) fail("too deeply nested");
      const std::size_t inner = factor();
      --depth_;
      return add({Op::negate, 0.0, 0, {inner}});
    }
    const std::size_t base = primary();
    return take('^') ? binary(Op::power, base, factor()) : base;
  }
  std::size_t primary() {
    skip_blanks();
    if (take('(')) {
      const std::size_t inner = sum();
      if (!take(')')) fail("expected ')'");
      return inner;
    }
    if (at_ >= text_.size()) fail("the formula ends where a number or a covariate is expected");
    const char first = text_[at_];
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return number();
    if (first == '`') return quoted();
    return word();
  }
  std::size_t number() {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("not a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return add({Op::number, value, 0, {}});
  }
  std::size_t quoted() {
    const std::size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) fail("the backquote is not closed");
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    const std::size_t found = lookup(name, false);
    at_ = end + 1;
    return add({Op::variable, 0.0, found, {}});
  }
  std::size_t word() {
    const std::size_t begin = at_;
    const auto belongs = [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return std::isalnum(byte) != 0 || c == '_' || c == '.' || byte >= 0x80;
    };
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    if (at_ == begin) fail(fmt::format("'{}' is not expected here", text_[at_]));
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (take('(')) return call(name);
    const std::size_t end = at_;
    at_ = begin;
    const std::size_t found = lookup(name, true);
    at_ = end;
    return add({Op::variable, 0.0, found, {}});
  }
  std::size_t call(std::string_view name) {
    struct Function {
      std::string_view name;
      Op op;
      std::size_t arity;
    };
    static constexpr Function functions[] = {{"exp", Op::exp, 1}, {"log", Op::log, 1}, {"sqrt", Op::sqrt, 1},  {"abs", Op::abs, 1},
                                             {"min", Op::min, 2}, {"max", Op::max, 2}, {"gauss", Op::gauss, 3}};
    for (const Function& function : functions) {
      if (function.name != name) continue;
      Formula::Node node{function.op, 0.0, 0, {}};
      do node.arguments.push_back(sum());
      while (take(','));
      if (!take(')')) fail("expected ')'");
      if (node.arguments.size() != function.arity)
        fail(fmt::format("{} takes {} argument{}, not {}", name, function.arity, function.arity == 1 ? "" : "s",
                         node.arguments.size()));
      return add(std::move(node));
    }
    fail(fmt::format("there is no function '{}'; there are exp, log, sqrt, abs, min, max, gauss", name));
  }
  std::size_t lookup(std::string_view name, bool by_position) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return i;
    if (by_position && name.size() > 1 && name[0] == 'x') {
      std::size_t position = 0;
      const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), position);
      if (error == std::errc() && end == name.data() + name.size() && position >= 1 && position <= names_.size())
        return position - 1;
    }
    fail(fmt::format("there is no covariate '{}'; there are {} (x1 .. x{} by position)", name,
                     names_.empty() ? "none" : fmt::format("'{}' ...", names_[0]), names_.size()));
  }

  std::string_view text_;
  std::span<const std::string> names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Formula formula_;
};

Formula Formula::parse(std::string_view text, std::span<const std::string> names) { return FormulaParser(text, names).run(); }

double Formula::value(std::size_t index, std::span<const double> x) const {
  const Node& node = nodes_[index];
  const auto argument = [&](std::size_t i) { return value(node.arguments[i], x); };
  switch (node.op) {
    case Op::number:
      return node.number;
    case Op::variable:
      return x[node.variable];
    case Op::add:
      return argument(0) + argument(1);
    case Op::subtract:
      return argument(0) - argument(1);
    case Op::multiply:
      return argument(0) * argument(1);
    case Op::divide:
      return argument(0) / argument(1);
    case Op::power:
      return std::pow(argument(0), argument(1));
    case Op::negate:
      return -argument(0);
    case Op::exp:
      return std::exp(argument(0));
    case Op::log:
      return std::log(argument(0));
    case Op::sqrt:
      return std::sqrt(argument(0));
    case Op::abs:
      return std::abs(argument(0));
    case Op::min:
      return std::min(argument(0), argument(1));
    case Op::max:
      return std::max(argument(0), argument(1));
    case Op::gauss:
      return std::exp(log_value(index, x));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double Formula::log_value(std::size_t index, std::span<const double> x) const {
  const Node& node = nodes_[index];
  switch (node.op) {
    case Op::exp:
      return value(node.arguments[0], x);
    case Op::multiply:
      return log_value(node.arguments[0], x) + log_value(node.arguments[1], x);
    case Op::divide:
      return log_value(node.arguments[0], x) - log_value(node.arguments[1], x);
    case Op::gauss: {
      const double t = (value(node.arguments[0], x) - value(node.arguments[1], x)) / value(node.arguments[2], x);
      return -0.5 * t * t;
    }
    default:
      return std::log(value(index, x));
  }
}

std::string Formula::to_string(std::size_t index, std::span<const std::string> names, int outer) const {
  const Node& node = nodes_[index];
  const auto infix = [&](std::string_view sign, int level, int right_level) {
    std::string text =
        to_string(node.arguments[0], names, level) + std::string(sign) + to_string(node.arguments[1], names, right_level);
    return outer > level ? "(" + text + ")" : text;
  };
  const auto call = [&](std::string_view name) {
    std::string text(name);
    for (std::size_t i = 0; i < node.arguments.size(); ++i) text += (i == 0 ? "(" : ", ") + to_string(node.arguments[i], names, 0);
    return text + ")";
  };
  switch (node.op) {
    case Op::number:
      return fmt::format("{}", node.number);
    case Op::variable: {
      const std::string& name = names[node.variable];
      const bool plain = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0 &&
                         std::all_of(name.begin(), name.end(), [](char c) {
                           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
                         });
      return plain ? name : "`" + name + "`";
    }
    case Op::add:
      return infix(" + ", 1, 2);
    case Op::subtract:
      return infix(" - ", 1, 2);
    case Op::multiply:
      return infix(" * ", 2, 3);
    case Op::divide:
      return infix(" / ", 2, 3);
    case Op::power: {  // right-associative, binds tighter than a sign in front
      const std::string text = to_string(node.arguments[0], names, 5) + "^" + to_string(node.arguments[1], names, 3);
      return outer > 4 ? "(" + text + ")" : text;
    }
    case Op::negate:
      return (outer > 3 ? "(-" : "-") + to_string(node.arguments[0], names, 3) + (outer > 3 ? ")" : "");
    case Op::exp:
      return call("exp");
    case Op::log:
      return call("log");
    case Op::sqrt:
      return call("sqrt");
    case Op::abs:
      return call("abs");
    case Op::min:
      return call("min");
    case Op::max:
      return call("max");
    case Op::gauss:
      return call("gauss");
  }
  return {};
}

std::vector<std::string> split_formulas(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  bool quoted = false;
  const auto finish = [&] {
    const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    part.erase(part.begin(), std::find_if_not(part.begin(), part.end(), blank));
    part.erase(std::find_if_not(part.rbegin(), part.rend(), blank).base(), part.end());
    if (!part.empty()) parts.push_back(part);
    part.clear();
  };
  for (const char c : text) {
    if (c == '`') quoted = !quoted;
    if (!quoted && c == '(') ++depth;
    if (!quoted && c == ')') --depth;
    if (!quoted && depth <= 0 && (c == ';' || c == ','))
      finish();
    else
      part += c;
  }
  finish();
  return parts;
}

}  // namespace caucus
