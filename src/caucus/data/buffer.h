// A growing array of plain values that grows and shrinks without copying.
//
// std::vector copies when it grows, so at its peak it holds three times what it needs, and copies again when it is cut to size.
// Here a large array is a mapping of its own that the system moves by renaming its pages: neither costs time or memory. Data sets
// of gigabytes are why this exists.
//
// Where memory is short, a large array may grow in an unnamed file instead (in_folder): the system then keeps as much of it in
// memory as there is room for.
//
// An array may also lie in memory that somebody else owns, as a mapped file does: then it is shared by all copies, takes none of
// its own, and becomes an array of its own when it is first to grow, or by own().
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace caucus {

template <class T>
  requires std::is_trivially_copyable_v<T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::initializer_list<T> values) { append(std::span<const T>(values.begin(), values.size())); }
  explicit Buffer(std::span<const T> values) { append(values); }
  // Zeros straight from the system, where nothing needs to be written for them.
  static Buffer zeros(std::size_t size) {
    Buffer buffer;
    buffer.reallocate(size);
    buffer.size_ = size;
    if (size > 0 && !is_mapped(size)) std::memset(buffer.data_, 0, size * sizeof(T));
    return buffer;
  }
  // Values that `owner` keeps where they are. They may be written to where the owner's memory may; elsewhere own() comes first.
  static Buffer borrow(std::span<const T> values, std::shared_ptr<const void> owner) {
    Buffer buffer;
    if (values.empty()) return buffer;
    buffer.data_ = const_cast<T*>(values.data());
    buffer.size_ = values.size();
    buffer.owner_ = std::move(owner);
    return buffer;
  }
  // An empty array that will lie in unnamed files of this folder from `least` bytes on; in memory where the folder has no room or
  // may not be written to.
  static Buffer in_folder(std::string folder, std::size_t least) {
    Buffer buffer;
    if (!folder.empty()) buffer.home_ = std::make_shared<const Home>(Home{std::move(folder), least});
    return buffer;
  }
  Buffer(const Buffer& other) {
    if (other.owner_ != nullptr)
      data_ = other.data_, size_ = other.size_, owner_ = other.owner_;
    else
      append(other);
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        owner_(std::move(other.owner_)),
        home_(std::move(other.home_)),
        file_(std::exchange(other.file_, -1)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(owner_, other.owner_);
    std::swap(home_, other.home_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~Buffer() { release(); }

  bool is_borrowed() const { return owner_ != nullptr; }
  void own() {
    if (is_borrowed()) reallocate(size_);
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }  // 0 where it is borrowed
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  void push_back(T value) {
    if (size_ >= capacity_) reallocate(std::max<std::size_t>(16, size_ * 2));
    data_[size_++] = value;
  }
  // The values must not lie in this buffer.
  void append(std::span<const T> values) {
    if (values.empty()) return;
    if (capacity_ < size_ + values.size()) reallocate(std::max(size_ + values.size(), capacity_ * 2));
    std::memcpy(data_ + size_, values.data(), values.size_bytes());
    size_ += values.size();
  }
  void resize(std::size_t size, T value = T{}) {
    if (size > capacity_) reallocate(std::max(size, capacity_ * 2));
    if (size > size_) std::fill(data_ + size_, data_ + size, value);
    size_ = size;
  }
  // Room for `capacity` values, which may be written before resize_written() counts them in.
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) reallocate(std::max(capacity, capacity_ * 2));
  }
  void resize_written(std::size_t size) { size_ = size; }
  void clear() {
    if (is_borrowed()) release();
    size_ = 0;
  }
  void shrink_to_fit() {
    if (size_ < capacity_) reallocate(size_);
  }

 private:
  // From this size on an array has its own mapping. Smaller ones live on the heap.
  static bool is_mapped(std::size_t capacity) { return capacity >= (std::size_t{4} << 20) / sizeof(T); }
  static std::size_t mapped_bytes(std::size_t capacity) {
    constexpr std::size_t page = 4096;
    return (capacity * sizeof(T) + page - 1) / page * page;
  }

  void release() {
    if (is_borrowed())
      owner_ = nullptr;
    else if (file_ >= 0)
      ::munmap(data_, mapped_bytes(capacity_)), ::close(std::exchange(file_, -1));
    else if (is_mapped(capacity_))
      ::munmap(data_, mapped_bytes(capacity_));
    else
      std::free(data_);
    data_ = nullptr;
    capacity_ = 0;
  }

  void reallocate(std::size_t capacity) {
    if (capacity == 0) return release();
    if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_alloc();
    if (is_borrowed()) {
      Buffer fresh;
      fresh.reallocate(capacity);
      std::memcpy(fresh.data_, data_, std::min(size_, capacity) * sizeof(T));
      fresh.size_ = size_;
      *this = std::move(fresh);
      return;
    }
    if (home_ != nullptr && capacity * sizeof(T) >= home_->least && reallocate_in_file(capacity)) return;
    if (file_ >= 0) {  // the disk has no more room, or so much is no longer needed
      Buffer fresh;
      fresh.reallocate(capacity);
      std::memcpy(fresh.data_, data_, std::min(capacity_, capacity) * sizeof(T));  // all of it: see reserve()
      fresh.size_ = size_;
      *this = std::move(fresh);
      return;
    }
    if (is_mapped(capacity) && is_mapped(capacity_)) {
      void* moved = ::mremap(data_, mapped_bytes(capacity_), mapped_bytes(capacity), MREMAP_MAYMOVE);
      if (moved == MAP_FAILED) throw std::bad_alloc();
      data_ = static_cast<T*>(moved);
    } else if (is_mapped(capacity) || is_mapped(capacity_)) {
      T* const fresh = is_mapped(capacity) ? map(capacity) : static_cast<T*>(std::malloc(capacity * sizeof(T)));
      if (fresh == nullptr) throw std::bad_alloc();
      if (capacity_ > 0) std::memcpy(fresh, data_, std::min(capacity_, capacity) * sizeof(T));  // all of it: see reserve()
      release();
      data_ = fresh;
    } else {
      void* moved = std::realloc(data_, capacity * sizeof(T));
      if (moved == nullptr) throw std::bad_alloc();
      data_ = static_cast<T*>(moved);
    }
    capacity_ = capacity;
  }

  // False where there is no room. All of it is taken at once: a disk that is full when a page is written would end the program.
  bool reallocate_in_file(std::size_t capacity) {
    const auto make_room = [bytes = mapped_bytes(capacity)](int file) {
      int failed = 0;
      do failed = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
      while (failed == EINTR);
      return failed == 0;
    };
    if (file_ >= 0) {
      if (capacity > capacity_ && !make_room(file_)) return false;
      void* moved = ::mremap(data_, mapped_bytes(capacity_), mapped_bytes(capacity), MREMAP_MAYMOVE);
      if (moved == MAP_FAILED) return false;
      if (capacity < capacity_) (void)!::ftruncate(file_, static_cast<off_t>(mapped_bytes(capacity)));
      data_ = static_cast<T*>(moved);
      capacity_ = capacity;
      return true;
    }
    const int file = ::open(home_->folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return false;
    void* const mapping =
        make_room(file) ? ::mmap(nullptr, mapped_bytes(capacity), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (mapping == MAP_FAILED) {
      ::close(file);
      return false;
    }
    if (capacity_ > 0) std::memcpy(mapping, data_, std::min(capacity_, capacity) * sizeof(T));
    release();
    data_ = static_cast<T*>(mapping);
    capacity_ = capacity;
    file_ = file;
    return true;
  }

  // Arrays of hundreds of megabytes are read at random and filled page by page: with pages of 4 kB much of the time goes into
  // finding and clearing them. Large pages where the system offers them; elsewhere the advice does nothing.
  static T* map(std::size_t capacity) {
    void* mapping = ::mmap(nullptr, mapped_bytes(capacity), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return nullptr;
    ::madvise(mapping, mapped_bytes(capacity), MADV_HUGEPAGE);
    return static_cast<T*>(mapping);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::shared_ptr<const void> owner_;  // of borrowed values
  struct Home {
    std::string folder;
    std::size_t least;
  };
  std::shared_ptr<const Home> home_;  // where it grows; null: in memory
  int file_ = -1;                     // where it lies
};

}  // namespace caucus
