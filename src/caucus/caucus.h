// What a program that uses caucus needs: read rankings, fit, score, assign, sample, write and read model files.
//
//   caucus::read_dataset()                             a file of rankings -> Dataset             (io/io.h)
//   caucus::find_family("pl").fit()                    Dataset -> FittedModel and FitSummary      (infer/family.h)
//   caucus::log_probs(), memberships(), sample()       what a fitted model says of rankings       (result/fitted_model.h)
//   caucus::load_model()                               a model file -> FittedModel                (service/model_file.h)
//   caucus::select(), compare()                        how many groups, which family              (service/select.h, compare.h)
#pragma once

#include "caucus/base/error.h"
#include "caucus/base/version.h"
#include "caucus/data/dataset.h"
#include "caucus/infer/family.h"
#include "caucus/infer/run.h"
#include "caucus/io/io.h"
#include "caucus/result/fitted_model.h"
#include "caucus/service/compare.h"
#include "caucus/service/families.h"
#include "caucus/service/model_file.h"
#include "caucus/service/select.h"
