// Figure 1, Table 1 and Figure 2 of paper 1, Nguyen & Zhang (2023), "Efficient and accurate learning of mixtures of Plackett-Luce
// models".
//
// All methods start from the same spectral estimate, as in the paper; "em" is our default method from that start.
// Figure 1: n = 100, L = 5, the generator of Theorem 1; error is dist(theta, theta*) under the best relabelling.
// Table 1: 80 % of the ballots train (of these a fifth validates), 20 % test; K of least BIC on the validation part; test
// log-likelihood per ballot. Figure 2: Jester in place of MovieLens-10M: people who rated all 70 jokes, the n first of them, equal
// ratings in random order; and MovieLens latest-small, its n most rated films, ratings completed by alternating least squares. K
// = 5.
#include <Eigen/Dense>
#include <cstdio>
#include <numeric>
#include <set>
#include <tuple>

#include "caucus/data/folds.h"
#include "caucus/infer/pl_mixture/fit.h"
#include "caucus/infer/pl_mixture/fitted.h"
#include "caucus/infer/pl_mixture/methods.h"
#include "caucus/infer/pl_mixture/objective.h"
#include "caucus/infer/pl_mixture/start.h"
#include "caucus/io/io.h"
#include "caucus/io/table.h"
#include "harness.h"
#include "paper1_starts.h"
#include "ratings.h"
#include "theorem1.h"

namespace {

using namespace caucus;
using namespace caucus::pl_mixture;
using namespace caucus::experiments;

const std::vector<std::string> methods{"em-lsr", "em-cml", "em-gmm", "emm", "em"};
// Algorithm 5 takes the weights of the groups as given ("prior distribution beta"); ours estimates them unless told not to.
const std::string given = ", weights given";
const std::vector<std::string> variants{"em-lsr" + given, "em-cml" + given, "em-gmm" + given, "em-slsr"};
// Table 1: where ten groups, the most offered, were chosen.
const std::string more_groups = "em, up to 25 groups";

struct Timed {
  Result result;
  double seconds = 0.0;
};

Timed run_fit(const Dataset& data, const std::string& method, std::size_t components, std::uint64_t seed, int threads) {
  Options options;
  options.components = static_cast<int>(components);
  options.method = *enum_from_name<Method>(method.substr(0, method.find(", ")));
  options.estimate_weights = !method.ends_with(given);
  options.init = Init::spectral;
  options.restarts = 1;
  options.standard_errors = Toggle::off;
  Run run;
  run.seed = seed;
  run.threads = threads;
  const double begun = cpu_seconds();
  Timed timed;
  timed.result = fit(data, options, run);
  timed.seconds = cpu_seconds() - begun;
  return timed;
}

double loglik_of(const Dataset& data, const Parameters& parameters, double* standard_error = nullptr) {
  const FittedMixture model(data.items, data.unranked, parameters);
  const std::vector<double> rows = log_probs(model, data, 1);
  double total = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    total += data.rankings.weight(i) * rows[i], squares += data.rankings.weight(i) * rows[i] * rows[i];
  const double count = data.rankings.total_weight();
  if (standard_error != nullptr) *standard_error = std::sqrt((squares - total * total / count) / (count - 1.0) / count);
  return total;
}

// Test log-likelihood per ballot and its standard error over ballots.
void add_test(Json& line, const Dataset& test, const Parameters& parameters) {
  double error = 0.0;
  line["test"] = loglik_of(test, parameters, &error) / test.rankings.total_weight();
  line["test_se"] = error;
}
std::string test_cell(const Json& one, int digits) {
  return fmt::format("{:.{}f}{}", one["test"].get<double>(), digits,
                     one.contains("test_se") ? fmt::format(" ± {:.2g}", one["test_se"].get<double>()) : std::string());
}

void figure1(const Settings& settings, Results& results) {
  const std::size_t n = settings.quick ? 20 : 100, informative = 5;
  const std::vector<std::size_t> sizes =
      settings.quick ? std::vector<std::size_t>{500, 2000} : std::vector<std::size_t>{1000, 2000, 5000, 10000};
  const int trials = settings.trials > 0 ? settings.trials : settings.quick ? 2 : 25;
  for (const std::size_t num : settings.quick ? std::vector<std::size_t>{2} : std::vector<std::size_t>{3, 8})
    for (const std::size_t m : sizes)
      for (int trial = 1; trial <= trials; ++trial) {
        const auto key = [&](const std::string& what) { return fmt::format("figure1/K={}/m={}/trial={}/{}", num, m, trial, what); };
        std::vector<std::string> all_methods = methods;
        if (m <= 5000 && trial <= (num > 3 && m > 2000 ? 3 : 10))
          all_methods.insert(all_methods.end(), variants.begin(), variants.end());
        if (results.has(key("truth")) && results.has(key("spectral")) && results.has(key("random")) &&
            results.has(key("moments")) &&
            std::ranges::all_of(all_methods, [&](const std::string& method) { return results.has(key(method)); }))
          continue;
        const auto seed = static_cast<std::uint64_t>(trial);
        const Theorem1 drawn = draw_theorem1(n, num, informative, m, seed, settings.threads);
        const PlackettLuceTruth& truth = drawn.truth;
        const Dataset& data = drawn.data;
        const Objective objective(data, num, 0.0, settings.threads);
        for (const auto& [name, init] :
             {std::pair{"spectral", Init::spectral}, std::pair{"random", Init::random}, std::pair{"moments", Init::moments}}) {
          if (results.has(key(name))) continue;
          Options options;
          options.components = static_cast<int>(num);
          const double begun = cpu_seconds();
          const Parameters start = pl_mixture::Starts(objective, options, seed).make(init, 0);
          const double seconds = cpu_seconds() - begun;
          results.add(key(name), seed,
                      {{"part", "figure1"},
                       {"K", num},
                       {"m", m},
                       {"trial", trial},
                       {"what", std::string("start ") + name},
                       {"error", plackett_luce_distance(start.utilities, truth.utilities, n)},
                       {"seconds", seconds}});
        }
        if (!results.has(key("truth"))) {  // what is left when the start is no trouble
          const double begun = cpu_seconds();
          const Solution best = run_method(objective, Method::em, Chain::automatic, drawn.parameters, SolveOptions{}, Run{});
          results.add(key("truth"), seed,
                      {{"part", "figure1"},
                       {"K", num},
                       {"m", m},
                       {"trial", trial},
                       {"what", "em from the truth"},
                       {"error", plackett_luce_distance(best.parameters.utilities, truth.utilities, n)},
                       {"seconds", cpu_seconds() - begun},
                       {"loglik", best.loglik}});
        }
        for (const std::string& method : all_methods) {
          if (results.has(key(method))) continue;
          const Timed timed = run_fit(data, method, num, seed, settings.threads);
          const double error = plackett_luce_distance(timed.result.parameters.utilities, truth.utilities, n);
          results.add(key(method), seed,
                      {{"part", "figure1"},
                       {"K", num},
                       {"m", m},
                       {"trial", trial},
                       {"what", method},
                       {"error", error},
                       {"seconds", timed.seconds},
                       {"iterations", timed.result.iterations},
                       {"loglik", timed.result.loglik}});
          std::printf("%s error %.4f, %.2f s\n", key(method).c_str(), error, timed.seconds);
          std::fflush(stdout);
        }
      }
}

struct Election {
  std::string name, file;
  bool complete = false;  // unlisted candidates in random order behind the listed ones
};
const std::vector<Election> elections{
    {"APA", "classic/apa1980_complete.soc"}, {"Sushi", "preflib/00014-00000001.soc"},
    {"West", "preflib/00001-00000002.soi"},  {"West, completed", "preflib/00001-00000002.soi", true},
    {"North", "preflib/00001-00000001.soi"}, {"North, completed", "preflib/00001-00000001.soi", true},
    {"Meath", "preflib/00001-00000003.soi"}, {"Meath, completed", "preflib/00001-00000003.soi", true}};

Dataset completed(Dataset data) {
  RandomStream random(1, Purpose::generate, 2);
  RankingSetBuilder builder;
  for (std::size_t row = 0; row < data.rankings.num_rows(); ++row)
    for (int copy = 0; copy < static_cast<int>(std::lround(data.rankings.row_weight(row))); ++copy) {
      const auto listed = data.rankings[data.rankings.row_ranking(row)].items();
      std::vector<ItemId> order(listed.begin(), listed.end());
      for (ItemId item = 0; item < data.num_items(); ++item)
        if (std::ranges::find(listed, item) == listed.end()) order.push_back(item);
      random.shuffle(std::span<ItemId>(order).subspan(listed.size()));
      builder.add(order);
    }
  data.rankings = builder.build();
  return data;
}

void table1(const Settings& settings, Results& results) {
  for (const Election& election : elections) {
    if (settings.quick && election.name != "APA") continue;
    Split outer, inner;
    std::vector<std::string> all_methods = methods;
    if (election.file.ends_with(".soi")) all_methods.push_back(more_groups);
    if (election.complete || election.file.ends_with(".soc"))
      all_methods.insert(all_methods.end(), variants.begin(), variants.end());
    for (const std::string& method : all_methods) {
      const std::string key = fmt::format("table1/{}/{}", election.name, method);
      if (results.has(key)) continue;
      if (outer.train.rankings.empty()) {
        const Dataset data = read_dataset(settings.data + "/" + election.file);
        outer = make_holdout(election.complete ? completed(data) : data, 0.2, 1);
        inner = make_holdout(outer.train, 0.2, 2);
      }
      const std::size_t most = settings.quick ? 3 : method == more_groups ? 25 : 10;
      double best = 1e300, seconds = 0.0;
      std::size_t chosen = 1;
      for (std::size_t num = 1; num <= most; ++num) {
        const Timed timed = run_fit(inner.train, method, num, 1, settings.threads);
        seconds += timed.seconds;
        const double parameters = static_cast<double>(num * (outer.train.num_items() - 1) + num - 1);
        const double bic =
            -2.0 * loglik_of(inner.test, timed.result.parameters) + parameters * std::log(inner.test.rankings.total_weight());
        if (bic < best) best = bic, chosen = num;
      }
      const Timed last = run_fit(outer.train, method, chosen, 1, settings.threads);
      Json line{{"part", "table1"}, {"data", election.name},    {"method", method},
                {"K", chosen},      {"seconds_all_K", seconds}, {"seconds", last.seconds}};
      add_test(line, outer.test, last.result.parameters);
      std::printf("%s K = %zu, test %.4f, %.2f s (all K %.1f s)\n", key.c_str(), chosen, line["test"].get<double>(), last.seconds,
                  seconds);
      results.add(key, 1, std::move(line));
      std::fflush(stdout);
    }
  }
}

// The n most rated films, everybody's ratings completed by a factorisation of rank 10 (alternating ridge regressions, penalty 0.1
// per rating).
Eigen::MatrixXd movielens(const std::string& folder, std::size_t n) {
  const Table table = read_table(folder + "/ratings/ml_latest_small_ratings.csv.gz");
  const auto& users = table.column("user").numbers;
  const auto& films = table.column("item").numbers;
  const auto& ratings = table.column("rating").numbers;
  std::map<double, std::size_t> user_number, film_number, film_count;
  for (std::size_t i = 0; i < table.num_rows; ++i) {
    user_number.emplace(users[i], user_number.size());
    film_number.emplace(films[i], film_number.size());
    ++film_count[films[i]];
  }
  constexpr Eigen::Index rank = 10;
  const auto num_users = static_cast<Eigen::Index>(user_number.size()), num_films = static_cast<Eigen::Index>(film_number.size());
  double mean = 0.0;
  for (const double rating : ratings) mean += rating / static_cast<double>(ratings.size());
  std::vector<std::vector<std::pair<Eigen::Index, double>>> by_user(user_number.size()), by_film(film_number.size());
  for (std::size_t i = 0; i < table.num_rows; ++i) {
    const std::size_t u = user_number[users[i]], f = film_number[films[i]];
    by_user[u].emplace_back(f, ratings[i] - mean);
    by_film[f].emplace_back(u, ratings[i] - mean);
  }
  RandomStream random(1, Purpose::generate, 1);
  Eigen::MatrixXd left(rank, num_users), right(rank, num_films);
  for (Eigen::MatrixXd* side : {&left, &right})
    for (Eigen::Index i = 0; i < side->size(); ++i) side->data()[i] = 0.1 * random.normal();
  const auto solve = [&](Eigen::MatrixXd& to, const Eigen::MatrixXd& from, const auto& lists) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      Eigen::MatrixXd a = Eigen::MatrixXd::Identity(rank, rank) * (0.1 * static_cast<double>(lists[i].size()));
      Eigen::VectorXd b = Eigen::VectorXd::Zero(rank);
      for (const auto& [j, value] : lists[i]) {
        a += from.col(j) * from.col(j).transpose();
        b += value * from.col(j);
      }
      to.col(static_cast<Eigen::Index>(i)) = a.ldlt().solve(b);
    }
  };
  for (int iteration = 0; iteration < 20; ++iteration) {
    solve(left, right, by_user);
    solve(right, left, by_film);
  }
  std::vector<std::pair<std::size_t, double>> top;
  for (const auto& [film, count] : film_count) top.emplace_back(count, film);
  std::ranges::stable_sort(top, [](const auto& a, const auto& b) { return a.first > b.first; });
  Eigen::MatrixXd values(num_users, static_cast<Eigen::Index>(n));
  for (std::size_t j = 0; j < n; ++j)
    values.col(static_cast<Eigen::Index>(j)) = left.transpose() * right.col(static_cast<Eigen::Index>(film_number[top[j].second]));
  return values;
}

void figure2(const Settings& settings, Results& results) {
  struct Source {
    std::string name;
    std::size_t n;
    std::vector<std::size_t> sizes;
  };
  std::vector<Source> sources{{"Jester", 25, {1000, 3000, 11000}}, {"Jester", 50, {1000, 3000, 11000}},
                              {"Jester", 70, {1000, 3000, 11000}}, {"MovieLens small", 25, {240, 480}},
                              {"MovieLens small", 50, {240, 480}}, {"MovieLens small", 100, {240, 480}},
                              {"MovieLens small", 200, {240, 480}}};
  if (settings.quick) sources = {{"Jester", 25, {250, 500}}};
  for (const Source& source : sources) {
    const auto key = [&](std::size_t m, const std::string& method) {
      return fmt::format("figure2/{}/n={}/m={}/{}", source.name, source.n, m, method);
    };
    bool all = true;
    const auto methods_at = [&](std::size_t m) {  // the largest m both ways
      std::vector<std::string> names = methods;
      if (m == source.sizes.back()) names.insert(names.end(), variants.begin(), variants.end());
      return names;
    };
    for (const std::size_t m : source.sizes)
      for (const std::string& method : methods_at(m)) all = all && results.has(key(m, method));
    if (all) continue;
    const Eigen::MatrixXd values = source.name == "Jester" ? jester(settings.data, source.n) : movielens(settings.data, source.n);
    const Split split = make_holdout(orders_of(values, 1), 0.2, 1);
    for (const std::size_t m : source.sizes) {
      std::vector<std::size_t> rows(std::min(m, split.train.rankings.num_rows()));
      std::iota(rows.begin(), rows.end(), std::size_t{0});
      Dataset train = split.train;
      train.rankings = split.train.rankings.select_rows(rows);
      for (const std::string& method : methods_at(m)) {
        if (results.has(key(m, method))) continue;
        const Timed timed = run_fit(train, method, 5, 1, settings.threads);
        Json line{{"part", "figure2"}, {"data", source.name}, {"n", source.n},
                  {"m", rows.size()},  {"method", method},    {"seconds", timed.seconds}};
        add_test(line, split.test, timed.result.parameters);
        std::printf("%s test %.4f, %.2f s\n", key(m, method).c_str(), line["test"].get<double>(), timed.seconds);
        results.add(key(m, method), 1, std::move(line));
        std::fflush(stdout);
      }
    }
  }
}

// The paper's Table 1: test log-likelihood and seconds.
const std::map<std::string, std::map<std::string, std::string>> paper_table1{
    {"APA", {{"em-lsr", "-4.6 (600)"}, {"em-cml", "-4.6 (33)"}, {"em-gmm", "-4.6 (2200)"}, {"emm", "-4.6 (9240)"}}},
    {"West", {{"em-lsr", "-11.9 (810)"}, {"em-cml", "-12.0 (200)"}, {"em-gmm", "-11.9 (5800)"}, {"emm", "-11.9 (25000)"}}},
    {"Sushi", {{"em-lsr", "-13.6 (746)"}, {"em-cml", "-14.0 (24.6)"}, {"em-gmm", "-13.8 (489)"}, {"emm", "-13.8 (1200)"}}},
    {"North", {{"em-lsr", "-18.7 (1500)"}, {"em-cml", "-18.9 (120)"}, {"em-gmm", "-18.7 (3100)"}, {"emm", "-18.8 (14000)"}}},
    {"Meath", {{"em-lsr", "-23.6 (1500)"}, {"em-cml", "-23.9 (497)"}, {"em-gmm", "-23.7 (30000)"}, {"emm", "-23.6 (70000)"}}}};
const char* const paper_movielens =  // the rows ML of Table 1
    "| paper: MovieLens-10M | 25 | | -49.2 (3700 s) | -50.1 (2500 s) | -49.8 (26000 s) | -49.2 (63000 s) | |\n"
    "| paper: MovieLens-10M | 50 | | -131 (5800 s) | -132 (6800 s) | -132 (125000 s) | - | |\n"
    "| paper: MovieLens-10M | 100 | | -326 (12000 s) | -330 (27000 s) | -332 (490000 s) | - | |\n"
    "| paper: MovieLens-10M | 200 | | -787 (25000 s) | -799 (81000 s) | - | - | |\n";

std::string header_row(const std::string& first, std::size_t more) {
  std::string dashes;
  for (std::size_t i = 0; i < more; ++i) dashes += "---|";
  return first + "\n|---|" + dashes + "\n";
}

Report figure1_report(const Settings&, const Results& results) {
  std::map<int, std::map<std::pair<std::size_t, std::string>, std::pair<Mean, Mean>>> panels;  // K -> (m, what) -> error, seconds
  std::map<std::tuple<int, std::size_t, std::string>, std::vector<double>> every;
  for (const auto& [key, one] : results.lines()) {
    if (one["part"] != "figure1") continue;
    auto& [error, seconds] = panels[one["K"].get<int>()][{one["m"].get<std::size_t>(), one["what"].get<std::string>()}];
    error.add(one["error"].get<double>());
    every[{one["K"].get<int>(), one["m"].get<std::size_t>(), one["what"].get<std::string>()}].push_back(one["error"].get<double>());
    seconds.add(one["seconds"].get<double>());
  }
  Report report;
  std::string svg;
  double top = 0;
  for (const auto& [num, panel] : panels) {
    std::set<std::size_t> sizes;
    std::set<std::string> whats;
    std::size_t trials = 0;
    for (const auto& [at, values] : panel)
      sizes.insert(at.first), whats.insert(at.second), trials = std::max(trials, values.first.count);
    std::string head = "| |";
    for (const std::size_t m : sizes) head += fmt::format(" m = {} |", m);
    report.table += fmt::format("K = {}, up to {} trials: error, mean (standard deviation) / median; seconds\n\n{}", num, trials,
                                header_row(head, sizes.size()));
    std::vector<Series> errors, times;
    for (const std::string& what : whats) {
      report.table += fmt::format("| {} |", what);
      Series error{what, {}}, time{what, {}};
      for (const std::size_t m : sizes) {
        const auto found = panel.find({m, what});
        if (found == panel.end()) {
          report.table += " not run |";
          continue;
        }
        const auto& [e, s] = found->second;
        std::vector<double>& values = every.at({num, m, what});
        std::ranges::sort(values);
        const double median = 0.5 * (values[values.size() / 2] + values[(values.size() - 1) / 2]);
        report.table += fmt::format(" {:.3g} ({:.2g}) / {:.3g}; {:.2g} s{} |", e.mean(), e.deviation(), median, s.mean(),
                                    e.count < trials ? fmt::format(", {} trials", e.count) : "");
        error.points.emplace_back(static_cast<double>(m), e.mean());
        time.points.emplace_back(static_cast<double>(m), std::max(1e-6, s.mean()));
      }
      report.table += "\n";
      errors.push_back(error);
      if (!what.starts_with("start") && what != "em from the truth") times.push_back(time);
    }
    std::map<std::size_t, std::pair<int, int>>
        higher;  // m -> trials where em ends at a higher likelihood than em from the truth, trials
    for (const auto& [key, one] : results.lines())
      if (one["part"] == "figure1" && one["K"] == num && one["what"] == "em")
        if (const auto at = results.lines().find(key.substr(0, key.rfind('/')) + "/truth"); at != results.lines().end()) {
          auto& [above, all] = higher[one["m"].get<std::size_t>()];
          above += one["loglik"].get<double>() > at->second["loglik"].get<double>() + 0.01 ? 1 : 0;
          ++all;
        }
    if (!higher.empty()) {
      report.table += "| em higher than from the truth |";
      for (const std::size_t m : sizes) report.table += fmt::format(" {} of {} |", higher[m].first, higher[m].second);
      report.table += "\n";
    }
    std::string paired;  // trials that were run both ways
    for (const std::string method : {"em-lsr", "em-cml", "em-gmm"}) {
      std::string cells;
      bool any = false;
      for (const std::size_t m : sizes) {
        Mean estimated, as_given, gain;
        for (const auto& [key, one] : results.lines()) {
          if (one["part"] != "figure1" || one["K"] != num || one["m"] != m || one["what"] != method + given) continue;
          const auto at = results.lines().find(key.substr(0, key.size() - given.size()));
          if (at == results.lines().end()) continue;
          const double with = at->second["error"].get<double>(), without = one["error"].get<double>();
          estimated.add(with), as_given.add(without), gain.add(with - without);
        }
        any = any || gain.count > 0;
        cells += gain.count == 0 ? std::string(" not run |")
                                 : fmt::format(" {:.3g}, {:.3g} ({:+.2g} ± {:.1g}), {} trials |", estimated.mean(), as_given.mean(),
                                               gain.mean(), gain.standard_error(), gain.count);
      }
      if (any) paired += fmt::format("| {} |{}\n", method, cells);
    }
    if (!paired.empty())
      report.table +=
          fmt::format("\nK = {}: error with weights estimated, given (difference ± standard error), the same trials\n\n{}{}", num,
                      header_row(head, sizes.size()), paired);
    report.table += "\n";
    svg += fmt::format("<g transform=\"translate(0 {})\">{}{}</g>\n", top,
                       line_chart(fmt::format("error, K = {}", num), "rankings", "dist to the truth", errors, 70),
                       line_chart(fmt::format("time, K = {}", num), "rankings", "CPU seconds", times, 590));
    top += 390;
  }
  if (!svg.empty()) report.svg = svg_page(1075, top, svg);
  return report;
}

Report table1_report(const Settings&, const Results& results) {
  const auto line_of = [&](const Election& election, const std::string& method) -> const Json* {
    const auto found = results.lines().find(fmt::format("table1/{}/{}", election.name, method));
    return found == results.lines().end() ? nullptr : &found->second;
  };
  const auto cell = [](const Json& one) {
    return fmt::format(" {} ({:.2g} s), K = {} |", test_cell(one, 3), one["seconds"].get<double>(), one["K"].get<int>());
  };
  const auto head = [](const std::vector<std::string>& columns) {
    std::string text = "| data |";
    for (const std::string& method : columns) text += " " + method + " |";
    return header_row(text, columns.size());
  };
  std::vector<std::string> columns = methods;
  columns.push_back(more_groups);
  Report report{head(columns), ""};
  std::string as_given;
  std::vector<std::pair<std::string, std::vector<Series>>> rows;
  for (const Election& election : elections) {
    report.table += "| " + election.name + " |";
    std::vector<Series> dots;  // compared with em here
    const Json* em = line_of(election, "em");
    const double reference = em == nullptr ? 0.0 : (*em)["test"].get<double>();
    const auto add_dot = [&](const std::string& name, double value) {
      if (reference < 0.0) dots.push_back({name, {{value - reference, 0.0}}});
    };
    for (const std::string& method : columns) {
      const Json* one = line_of(election, method);
      report.table += one != nullptr ? cell(*one) : method == more_groups ? " |" : " not run |";
      if (one != nullptr && method != "em") add_dot(method, (*one)["test"].get<double>());
    }
    report.table += "\n";
    std::string variant_cells;
    bool any = false;
    for (const std::string& method : variants) {
      const Json* one = line_of(election, method);
      variant_cells += one != nullptr ? cell(*one) : " not run |";
      if (one != nullptr) any = true, add_dot(method, (*one)["test"].get<double>());
    }
    if (any) as_given += "| " + election.name + " |" + variant_cells + "\n";
    // The paper's figures stand below the data they belong to: the elections with completed ballots.
    const std::string name = election.name.substr(0, election.name.find(','));
    if (election.complete || !election.file.ends_with(".soi")) {
      const auto& row = paper_table1.at(name);
      report.table += "| paper |";
      for (const std::string& method : columns) {
        report.table += row.contains(method) ? " " + row.at(method) + " |" : " |";
        if (row.contains(method)) add_dot("paper: " + method, std::stod(row.at(method)));
      }
      report.table += "\n";
    }
    rows.emplace_back(election.name, dots);
  }
  if (!as_given.empty()) report.table += "\nWith the weights given, and `em-slsr`:\n\n" + head(variants) + as_given;
  report.svg = dot_chart("Test log-likelihood per ballot, compared with em here (the paper's are rounded to 0.1)", "nats", rows);
  return report;
}

Report figure2_report(const Settings&, const Results& results) {
  std::map<std::tuple<std::string, std::size_t, std::size_t>, std::map<std::string, Json>> cells;
  for (const auto& [key, one] : results.lines())
    if (one["part"] == "figure2")
      cells[{one["data"], one["n"].get<std::size_t>(), one["m"].get<std::size_t>()}][one["method"]] = one;
  const auto head_of = [](const std::vector<std::string>& columns) {
    std::string head = "| data | n | m |";
    for (const std::string& method : columns) head += " " + method + " |";
    return header_row(head, columns.size() + 2);
  };
  Report report{head_of(methods), ""};
  std::string as_given;
  std::map<std::string, std::map<std::string, std::pair<Series, Series>>>
      panels;  // data and n -> method -> test log-likelihood, seconds
  for (const auto& [at, by_method] : cells) {
    const auto& [name, n, m] = at;
    report.table += fmt::format("| {} | {} | {} |", name, n, m);
    for (const std::string& method : methods) {
      const auto found = by_method.find(method);
      if (found == by_method.end()) {
        report.table += " not run |";
        continue;
      }
      const double seconds = found->second["seconds"].get<double>();
      report.table += fmt::format(" {} ({:.2g} s) |", test_cell(found->second, 2), seconds);
      auto& [likelihood, time] = panels[fmt::format("{}, n = {}", name, n)][method];
      likelihood.name = time.name = method;
      likelihood.points.emplace_back(static_cast<double>(m), found->second["test"].get<double>());
      time.points.emplace_back(static_cast<double>(m), std::max(1e-4, seconds));
    }
    report.table += "\n";
    std::string cells_given;
    bool any = false;
    for (const std::string& method : variants) {
      const auto found = by_method.find(method);
      any = any || found != by_method.end();
      cells_given += found == by_method.end()
                         ? std::string(" not run |")
                         : fmt::format(" {} ({:.2g} s) |", test_cell(found->second, 2), found->second["seconds"].get<double>());
    }
    if (any) as_given += fmt::format("| {} | {} | {} |{}\n", name, n, m, cells_given);
  }
  report.table += paper_movielens;
  if (!as_given.empty()) report.table += "\nWith the weights given, and `em-slsr`:\n\n" + head_of(variants) + as_given;
  std::string svg;
  double top = 0;
  for (const auto& [name, by_method] : panels) {
    std::vector<Series> likelihoods, times;
    for (const auto& [method, both] : by_method) likelihoods.push_back(both.first), times.push_back(both.second);
    svg += fmt::format("<g transform=\"translate(0 {})\">{}{}</g>", top,
                       line_chart(name, "rankings", "test log-likelihood per ranking", likelihoods, 70, false),
                       line_chart(name, "rankings", "CPU seconds", times, 530));
    top += 390;
  }
  if (!svg.empty()) report.svg = svg_page(960, top, svg);
  return report;
}

}  // namespace

std::vector<Target> caucus::experiments::paper1_targets() {
  return {{"paper1-figure1", "error and time against the number of rankings; starts and methods", figure1, figure1_report},
          {"paper1-table1", "test log-likelihood on elections, Sushi and APA", table1, table1_report},
          {"paper1-figure2", "Jester and MovieLens with up to 200 items", figure2, figure2_report},
          paper1_supplement_target(),
          paper1_starts_target()};
}
