// Seed texts for the fuzzers, made by the project's own writers and by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "caucus/io/io.h"

namespace caucus::fuzz {

struct Seed {
  Format format;
  std::string text;
};

inline std::vector<Seed> seeds() {
  std::vector<Seed> list;
  const std::vector<std::string> sources{
      "{\"items\":[\"ann\",\"bo\",\"cy\",\"di\"],\"unranked\":\"last\"}\n{\"ranking\":[\"ann\",\"cy\"],\"weight\":3}\n[\"bo\",["
      "\"ann\",\"di\"],\"cy\"]\n[\"cy\"]\n",
      "{\"items\":[\"ann\",\"bo\",\"1\"],\"covariates\":[{\"name\":\"age\",\"type\":\"number\"},{\"name\":\"town\",\"type\":"
      "\"text\"}]}\n"
      "{\"ranking\":[2,0,1],\"weight\":0.5,\"covariates\":[3.5,\"a, \\\"b\\\"\"]}\n{\"ranking\":[0],\"covariates\":[null,\"\"]}\n",
      "[\"x\",\"y\"]\n[[\"y\",\"z\"]]\n[\"z\",\"x\"]\n[\"x\",\"y\"]\n",
      "[10,2,3]\n[3,10]\n[[2,3],10]\n",
      "[\"\\u00e4\\ud83d\\ude00\",\"b\\n\",\" c\",\"d\\\"\"]\n",
  };
  for (const std::string& source : sources) {
    list.push_back({Format::jsonl, source});
    const Dataset data = parse_dataset(source, "seed.jsonl");
    for (const FormatInfo& info : formats()) {
      WriteOptions to;
      to.format = info.format;
      list.push_back({info.format, format_dataset(data, "seed", to)});
    }
    list.push_back({Format::preflib, format_dataset(data, "seed.cat")});
  }
  const std::vector<std::pair<Format, std::string>> by_hand{
      {Format::preflib,
       "# DATA TYPE: cat\n# NUMBER ALTERNATIVES: 3\n# CATEGORY NAME 0: Disapproved\n# CATEGORY NAME 1: Approved\n"
       "# ALTERNATIVE NAME 0: a\n# ALTERNATIVE NAME 1: b\n# ALTERNATIVE NAME 2: c\n2: {0, 1}, {}\r\n1: {2}, 1\n"},
      {Format::preflib, "# NUMBER ALTERNATIVES: 1000000000\n# NUMBER VOTERS: 7\n3: 4,5\n1.5: 999999999\n0: 1\n\n# end\n"},
      {Format::preflib_old, "2\r\n1,a, b\r\n2,200 \r\n9,9,2\r\n5,2,{1}\r\n4,{1,2}\r\n"},
      {Format::preflib_old, "3\n0,x\n1,y\n2,z\n4,4,1\n4,0,2,1,\n"},
      {Format::blt,
       "4 2\n-2 -3\n3 1 3 4 0\n(id 5) 2 4 1=3 0\n1.5 2 - 1 0 # c\n0\n\"Adam\" \"Basil\"\n\"Charlotte\"\nDonald\n\"Title\"\n"},
      {Format::blt, "2,1,\n61,1,\n4,2,1,\n\"Candidate 1\",\"Ann \"\"A\"\"\",\"L\",\n\"Candidate 2\",\"Bo\",\"G\",\n\"Ward\",\n"},
      {Format::blt, "2 1,\n5 1 0,\n0,\n# ALTERNATIVE NAME 1: Ann\n# ALTERNATIVE NAME 2: Bo\n"},
      {Format::csv_wide, ",Precinct,Rank 1,Rank 2\n0,P1,Ann,skipped\n1,\"P,2\",overvote,\n2,P1,Bo,Bo\n"},
      {Format::csv_wide,
       "\xef\xbb\xbf"
       "count;1st choice;2nd choice\r\n2;a;\"b;\"\"c\"\"\"\r\n"},
      {Format::csv_matrix, "sex,rank_Ann,rank_Bo\nm,1,2\nf,2.5,\nx,0,NA\n"},
      {Format::csv_matrix, "x,y,z\n3,1,2\n1,2,3\n"},
      {Format::csv_long, "voter,item,rank,age\nv2,b,1,30\nv1,a,2,20\nv2,a,1,30\n"},
      {Format::csv_pairwise, "model_a,model_b,winner\nx,y,model_a\ny,z,tie (bothbad)\nx,z,\nz,x,z\n"},
      {Format::csv_pairwise, "model_a,model_b,win_a,win_b,tie,both_bad\nx,y,10,3,2,1\n"},
      {Format::csv_pairwise, "assessor,preferred,not_preferred\n1,15,2\n"},
      {Format::csv_ratings, "userId,movieId,rating,timestamp\n1,10,4.5,9\n1,9,5,8\n2,9,-3e-2,7\n1,9,1,6\n"},
      {Format::csv_order, "count,ballot\n3,A > B=C\n2,\n1,none\n"},
      {Format::csv_order, "12,x>y\n3,y\n"},
      {Format::csv_order, "4: a>b=c\n2*b>a\n"},
      {Format::csv_matrix,
       "ResponseId,Age,Q1_1,Q1_2,Q1_3\nid,age,Rank - Ann,Rank - Bo,Rank - Cy\n\"{\"\"ImportId\"\":\"\"x\"\"}\",,,,\nr1,30,1,2,3\n"},
      {Format::csv_matrix, "id,Rank these,,\n,Ann,Bo,Cy\n1,1,2,3\n2,,1,\n"},
      {Format::csv_ratings, "user,j1,j2,j3\n1,-7.8,8.5,\n2,1,1,3\n"},
      {Format::jsonl,
       "[\n {\"model_a\":\"x\",\"model_b\":\"y\",\"winner\":\"model_a\",\"judge\":1},\n "
       "{\"model_a\":\"y\",\n\"model_b\":\"z\",\"winner\":\"tie\"}\n]\n"},
      {Format::jsonl, "{\"a\":\"x\",\"b\":\"y\",\"winner\":\"b\"}\n{\"winner\":\"y\",\"loser\":\"x\",\"turn\":1}\n"},
      {Format::jsonl,
       "{\"ranking\":[\"x\"],\"age\":3,\"deep\":{\"a\":[1,{}]},\"t\":true}\n{\"ranking\":[\"y\"],\"covariates\":{\"age\":\"old\"}}"
       "\n"},
  };
  for (const auto& [format, text] : by_hand) list.push_back({format, text});
  return list;
}

}  // namespace caucus::fuzz
