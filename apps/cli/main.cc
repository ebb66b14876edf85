// caucus: finds the groups in ranked data. The command line.
#include "program.h"

int main(int argc, char** argv) {
  caucus::cli::Context context;
  return caucus::cli::run_program(argc, argv, context);
}
