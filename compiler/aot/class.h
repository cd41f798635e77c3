// A graph of TensorFlow's compiled ahead of time for ${machine}.  Made by a program: do not edit.
//
// Arrays are dense, the last dimension runs fastest; elements of types that C++ lacks are their bits.
#ifndef ${guard}
#define ${guard}

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" void ${function}(const void* const* parameters, void* const* results, void* arena);

${open}
// Objects have memory of their own, so several may run at the same time; one of them runs on one thread at a time.
class ${class_name} {
 public:
  enum class AllocMode {
    // The object has memory for arguments and variables; `set_..._data` may give other.
    ARGS_VARIABLES_RESULTS_PROFILES_AND_TEMPS,
    // The caller gives it, by `set_..._data`, before it runs.
    RESULTS_PROFILES_AND_TEMPS_ONLY,
  };

  static constexpr std::size_t kNumArgs = ${argument_count};
  static constexpr std::size_t kNumVariables = ${variable_count};
  static constexpr std::size_t kNumResults = ${result_count};

  // The bytes of an argument, a variable, a result.
  static std::size_t ArgSize(std::size_t number) {
    static const std::size_t bytes[] = {${argument_bytes}};
    return bytes[number];
  }
  static std::size_t VariableSize(std::size_t number) {
    static const std::size_t bytes[] = {${variable_bytes}};
    return bytes[number];
  }
  static std::size_t ResultSize(std::size_t number) {
    static const std::size_t bytes[] = {${result_bytes}};
    return bytes[number];
  }

  explicit ${class_name}(AllocMode mode = AllocMode::ARGS_VARIABLES_RESULTS_PROFILES_AND_TEMPS) {
    static const std::size_t argument_offsets[] = {${argument_offsets}};
    static const std::size_t variable_offsets[] = {${variable_offsets}};
    static const std::size_t result_offsets[] = {${result_offsets}};
    block_ = std::calloc(1, ${memory_bytes} + ${room});
    if (block_ == nullptr) return;
    char* start = static_cast<char*>(block_);
    memory_ = start + (${room} - reinterpret_cast<std::uintptr_t>(start) % ${room});
    for (std::size_t i = 0; i != kNumResults; ++i) results_[i] = memory_ + result_offsets[i];
    if (mode == AllocMode::RESULTS_PROFILES_AND_TEMPS_ONLY) return;
    for (std::size_t i = 0; i != kNumArgs; ++i) arguments_[i] = memory_ + argument_offsets[i];
    for (std::size_t i = 0; i != kNumVariables; ++i) variables_[i] = memory_ + variable_offsets[i];
  }
  ~${class_name}() { std::free(block_); }
  ${class_name}(const ${class_name}&) = delete;
  ${class_name}& operator=(const ${class_name}&) = delete;

  // Runs the graph; false, with `error_text`, if it cannot.
  bool Run() {
    static const std::size_t reads[] = {${reads}};
    static const std::size_t writes[] = {${writes}};
    static const std::size_t written_offsets[] = {${written_offsets}};
    if (memory_ == nullptr) return Fail("no memory");
    for (std::size_t i = 0; i != kNumArgs; ++i)
      if (!IsUsable(arguments_[i])) return Fail("an argument has no data, or its data is not aligned to ${alignment} bytes");
    for (std::size_t i = 0; i != kNumVariables; ++i)
      if (!IsUsable(variables_[i])) return Fail("a variable has no data, or its data is not aligned to ${alignment} bytes");
    const void* parameters[${parameter_count} + 1] = {nullptr};
    void* results[kNumResults + ${written_count} + 1] = {nullptr};
    for (std::size_t i = 0; i != kNumArgs; ++i) parameters[i] = arguments_[i];
    for (std::size_t i = kNumArgs; i != ${parameter_count}; ++i) parameters[i] = variables_[reads[i - kNumArgs]];
    for (std::size_t i = 0; i != kNumResults; ++i) results[i] = results_[i];
    for (std::size_t i = 0; i != ${written_count}; ++i) results[kNumResults + i] = memory_ + written_offsets[i];
    ${function}(parameters, results, memory_ + ${arena});
    for (std::size_t i = 0; i != ${written_count}; ++i)
      std::memcpy(variables_[writes[i]], results[kNumResults + i], VariableSize(writes[i]));
    return Fail("", true);
  }

  // Why the last run failed; "" if it did not.  Who calls `error_msg` links with the library of C++, whose string it is.
  std::string error_msg() const { return error_; }
  const char* error_text() const { return error_; }

  // All arguments, results, by number.
  void** args() { return arguments_; }
  void** results() { return results_; }
  void* arg_data(std::size_t number) { return arguments_[number]; }
  void set_arg_data(std::size_t number, const void* data) { arguments_[number] = const_cast<void*>(data); }
  void* result_data(std::size_t number) { return results_[number]; }
${arguments}${variables}${results}
 private:
  static bool IsUsable(const void* data) {
    return data != nullptr && reinterpret_cast<std::uintptr_t>(data) % ${alignment} == 0;
  }
  bool Fail(const char* message, bool result = false) {
    error_ = message;
    return result;
  }

  void* block_ = nullptr;
  char* memory_ = nullptr;
  const char* error_ = "";
  void* arguments_[kNumArgs + 1] = {nullptr};
  void* variables_[kNumVariables + 1] = {nullptr};
  void* results_[kNumResults + 1] = {nullptr};
};

${close}
#endif  // ${guard}
