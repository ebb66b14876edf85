// JSON lines, the format that holds everything a data set has; docs/data.md describes it.
//
//   {"schema":"caucus.rankings/1","items":["a","b","c"],"unranked":"last","covariates":[{"name":"age","type":"number"}]}
//   {"ranking":["a",["b","c"]],"weight":2,"covariates":[31]}
//
// Battles are read too: {"model_a":"x","model_b":"y","winner":"model_a"}, and so is one array of such objects.
#include "caucus/io/jsonl_reader.h"

namespace caucus {

using jsonl_format::JsonlReader;

namespace {

class JsonlParts final : public PartReader {
 public:
  JsonlParts(const Source& source, const ReadOptions& options) : source_(source), reader_(source.name(), options, true) {
    const std::string_view text = source.text();
    std::size_t end = 0;
    while (end < text.size()) {
      const std::size_t begin = end;
      const std::size_t newline = std::min(text.find('\n', begin), text.size());
      end = std::min(newline + 1, text.size());
      if (!trim(text.substr(begin, newline - begin)).empty()) break;
    }
    JsonlReader first(source.name(), options, true);
    first.feed(text.substr(0, end));
    if (!first.had_head()) return;
    reader_.feed(text.substr(0, end));
    reader_.end_head();
    body_ = end;
  }
  std::size_t body() const override { return body_; }
  bool read(std::size_t begin, std::size_t end) override {
    if (begin > 0) reader_.end_head();
    reader_.feed(source_.text().substr(begin, end - begin));
    return reader_.sound();
  }
  void save(Saver& saver) override { reader_.save(saver); }
  void absorb(Loader& loader) override { reader_.absorb(loader); }
  Dataset finish() override { return reader_.finish(); }

 private:
  const Source& source_;
  JsonlReader reader_;
  std::size_t body_ = 0;
};

}  // namespace

std::unique_ptr<LineReader> make_jsonl_reader(const Source& start, const ReadOptions& options, bool keep_covariates) {
  return std::make_unique<JsonlReader>(start.name(), options, keep_covariates);
}

std::unique_ptr<PartReader> make_jsonl_parts(const Source& source, const ReadOptions& options) {
  return std::make_unique<JsonlParts>(source, options);
}

bool is_json_array(std::string_view text) {
  JsonCursor cursor(text);
  return cursor.take('[') && cursor.peek() == '{';
}

Dataset read_jsonl(const Source& source, const ReadOptions& options) {
  JsonlReader reader(source.name(), options, true);
  if (is_json_array(source.text()))
    reader.feed_array(source.text());
  else
    reader.feed(source.text());
  return reader.finish();
}

}  // namespace caucus
