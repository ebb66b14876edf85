// An open file by its number, and reading and writing that go on after a signal.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>

namespace caucus {

// Closes what it owns. Standard input and output are borrowed.
class Descriptor {
 public:
  Descriptor() = default;
  static Descriptor own(int number) { return {number, true}; }
  static Descriptor borrow(int number) { return {number, false}; }
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)), owned_(other.owned_) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  // False with errno where the last writes did not reach the file.
  bool close();

 private:
  Descriptor(int number, bool owned) : number_(number), owned_(owned) {}

  int number_ = -1;
  bool owned_ = false;
};

// For reading; "-" is standard input. Throws NoInputError where there is no file, or a folder.
Descriptor open_input(const std::string& path);
// How messages call the input at `path`.
std::string input_name(const std::string& path);

// Reads until `size` bytes are there or the input ends; the number of bytes read, or -1 with errno.
ssize_t read_full(int number, void* data, std::size_t size);
// False with errno where not all could be written.
bool write_full(int number, const void* data, std::size_t size);

}  // namespace caucus
