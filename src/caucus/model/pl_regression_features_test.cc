#include "caucus/model/pl_regression_features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caucus/base/error.h"

namespace caucus {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();
const std::vector<std::string> names{"age", "the income", "x2"};

double value(const std::string& text, std::vector<double> x) { return Formula::parse(text, names).value(x); }

TEST(Formula, Evaluates) {
  const std::vector<double> x{0.5, -1.0, 2.0};
  EXPECT_NEAR(value("exp(age + `the income`)", x), std::exp(-0.5), 1e-15);
  EXPECT_NEAR(value("exp(x1+x2)", x), std::exp(2.5), 1e-15) << "x2 is a name here, x1 a position";
  EXPECT_NEAR(value("2 * age - 3 ^ 2 / 4", x), 1.0 - 2.25, 1e-15);
  EXPECT_NEAR(value("-x2^2", x), -4.0, 1e-15);
  EXPECT_NEAR(value("2^3^2", x), 512.0, 1e-12);
  EXPECT_NEAR(value("gauss(age, 1, 0.25) * max(0, x2)", x), 2.0 * std::exp(-2.0), 1e-15);
  EXPECT_NEAR(value("abs(x3) + sqrt(4) - min(1, 2) + log(exp(1))", x), 4.0, 1e-15);
}

TEST(Formula, LogValueDoesNotOverflow) {
  const Formula formula = Formula::parse("exp(1000 * age) * exp(900) / exp(x2)", names);
  EXPECT_NEAR(formula.log_value(std::vector<double>{0.5, 0.0, 2.0}), 1398.0, 1e-9);
}

TEST(Formula, PrintsWhatItReads) {
  for (const std::string text :
       {"exp(age + `the income`)", "(age^2)^x2 * -(age - x2)", "age - (x2 - 1)", "gauss(age, 0.5, 1) / 2^-x2", "-age^2"}) {
    const Formula formula = Formula::parse(text, names);
    const Formula again = Formula::parse(formula.to_string(names), names);
    for (const double a : {0.3, 1.7})
      EXPECT_NEAR(again.value(std::vector<double>{a, 0.2, 1.3}), formula.value(std::vector<double>{a, 0.2, 1.3}), 1e-14) << text;
  }
}

TEST(Formula, ErrorsShowThePlace) {
  for (const std::string text :
       {"exp(age", "exp()", "expo(age)", "age +", "height", "age age", "gauss(age)", "`age", "3..5", "", "x9", "(", "\xff"}) {
    try {
      Formula::parse(text, names);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("features: '" + text + "', character"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(Formula::parse(std::string(100000, '('), names), UsageError);
  EXPECT_THROW(Formula::parse(std::string(100000, '-'), names), UsageError);
}

TEST(Formula, Splits) {
  EXPECT_EQ(split_formulas(" exp(a); gauss(b, 0, 1), `x,y`;"), (std::vector<std::string>{"exp(a)", "gauss(b, 0, 1)", "`x,y`"}));
}

Column numeric(std::string name, std::vector<double> values) { return {std::move(name), std::move(values), {}}; }
Column text(std::string name, std::vector<std::string> values) { return {std::move(name), {}, std::move(values)}; }

TEST(Features, StandardisesWithDivisorN) {
  std::vector<std::string> warnings;
  const std::vector<Column> columns{numeric("age", {1, 2, 3, 6}), text("area", {"city", "rural", "city", "city"})};
  const FeatureMap map = FeatureMap::learn(columns, {}, warnings);
  ASSERT_EQ(map.num_features(), 5u);  // exp(age), exp(-age), two levels, offset
  EXPECT_EQ(map.list()[0].mean, 3.0);
  EXPECT_NEAR(map.list()[0].scale, std::sqrt((4.0 + 1.0 + 0.0 + 9.0) / 4.0), 1e-15);
  EXPECT_EQ(map.list()[2].name, "area=city");
  EXPECT_EQ(map.list()[4].name, "offset");
  const EncodedRows encoded = map.encode(columns);
  const RowMatrix w = map.features(encoded.x);
  const double x = -2.0 / map.list()[0].scale;  // row 0; its largest feature is exp(-x)
  EXPECT_NEAR(w(0, 0), std::exp(2.0 * x), 1e-15);
  EXPECT_EQ(w(0, 1), 1.0);
  EXPECT_NEAR(w(0, 2), std::exp(x), 1e-15);
  EXPECT_EQ(w(0, 3), 0.0);
  EXPECT_NEAR(w(0, 4), std::exp(x), 1e-15);
}

TEST(Features, ColumnsAreFoundByName) {
  std::vector<std::string> warnings;
  const Column a = numeric("a", {1, 2, 4}), b = numeric("b", {0, 1, 5}), c = text("c", {"u", "v", "u"}),
               extra = text("id", {"1", "2", "x"});
  const FeatureMap map = FeatureMap::learn(std::vector{a, b, c}, {{}, {"exp(a + b)"}, MissingValues::error}, warnings);
  const RowMatrix straight = map.features(map.encode(std::vector{a, b, c}).x),
                  shuffled = map.features(map.encode(std::vector{c, extra, b, a}).x);
  EXPECT_EQ(straight, shuffled);
  EXPECT_THROW(map.encode(std::vector{a, c}), DataError);
  EXPECT_THROW(map.encode(std::vector{text("a", {"1", "2", "three"}), b, c}), DataError);
}

TEST(Features, HugeCovariatesDoNotOverflow) {
  std::vector<std::string> warnings;
  const FeatureMap map =
      FeatureMap::learn(std::vector{numeric("a", {0, 1, 2})}, {{}, {"exp(a) * exp(a)"}, MissingValues::error}, warnings);
  const RowMatrix w = map.features(map.encode(std::vector{numeric("a", {1e6, -1e6})}).x);
  EXPECT_TRUE(w.allFinite());
  EXPECT_EQ(w(0, 2), 1.0);
  EXPECT_EQ(w(1, 1), 1.0);
}

TEST(Features, MissingValues) {
  std::vector<std::string> warnings;
  const std::vector<Column> columns{numeric("a", {1, nan, 3, 8}), text("c", {"u", "v", "", "u"})};
  try {
    FeatureMap::learn(columns, {}, warnings);
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("row 2, column 'a'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("--missing"), std::string::npos);
  }
  const FeatureMap mean = FeatureMap::learn(columns, {{}, {}, MissingValues::mean}, warnings);
  EXPECT_EQ(mean.list()[0].mean, 4.0);
  const EncodedRows filled = mean.encode(columns);
  EXPECT_EQ(filled.x(1, 0), 0.0);
  EXPECT_EQ(filled.x(2, 1), 1.0) << "the most common level, u";
  const FeatureMap dropped = FeatureMap::learn(columns, {{}, {}, MissingValues::drop}, warnings);
  EXPECT_EQ(dropped.encode(columns).rows, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(dropped.list()[0].mean, 4.5);
}

TEST(Features, CategoricalByRequestAndUnknownLevels) {
  std::vector<std::string> warnings;
  const FeatureMap map =
      FeatureMap::learn(std::vector{numeric("code", {1, 2, 2, 7})}, {{"code"}, {}, MissingValues::error}, warnings);
  EXPECT_EQ(map.num_features(), 4u);
  EXPECT_EQ(map.list()[2].name, "code=7");
  const EncodedRows encoded = map.encode(std::vector{numeric("code", {7, 9})});
  EXPECT_EQ(encoded.x(0, 2), 1.0);
  EXPECT_EQ(encoded.x.row(1).sum(), 0.0);
  ASSERT_EQ(encoded.warnings.size(), 1u);
  EXPECT_THROW(FeatureMap::learn(std::vector{numeric("code", {1, 2})}, {{"kode"}, {}, MissingValues::error}, warnings), UsageError);
}

TEST(Features, NegativeFeaturesAreRefused) {
  std::vector<std::string> warnings;
  const std::vector<Column> columns{numeric("a", {0, 1})};
  const FeatureMap map = FeatureMap::learn(columns, {{}, {"a"}, MissingValues::error}, warnings);
  EXPECT_THROW(map.features(map.encode(columns).x), DataError);
}

TEST(Features, BumpsAndConstantColumnsAndPartsRoundTrip) {
  std::vector<std::string> warnings;
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i);
  const std::vector<Column> columns{numeric("a", values), numeric("flat", std::vector<double>(100, 2.0))};
  const FeatureMap map = FeatureMap::learn(columns, {{}, {"bumps(a, 5)"}, MissingValues::error}, warnings);
  EXPECT_EQ(map.num_features(), 4u + 5u + 1u);
  ASSERT_EQ(warnings.size(), 1u);
  const FeatureMap again = FeatureMap::from_parts(map.covariates(), map.most_common_levels(), map.formulas(), map.missing());
  EXPECT_EQ(map.features(map.encode(columns).x), again.features(again.encode(columns).x));
}

}  // namespace
}  // namespace caucus
