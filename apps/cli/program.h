// The whole command line as a function: what caucus and caucus-mpi are made of.
#pragma once

#include "console.h"

namespace caucus::cli {

// The exit code. Nothing is thrown.
int run_program(int argc, char** argv, Context& context);

}  // namespace caucus::cli
