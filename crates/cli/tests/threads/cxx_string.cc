// Members of std::string are code of the program's like any other, though libstdc++ has them in its shared library.
// check: -std=c++17
// exit: 100
// finds: data-race
// check: -std=c++20
// exit: 100
// finds: data-race
// check: -std=c++17 -DLOCKED
// exit: 0
#include <mutex>
#include <string>
#include <thread>
static std::string text;
static std::mutex lock;
static void append(const char *more) {
#ifdef LOCKED
  std::lock_guard<std::mutex> held(lock);
#endif
  text.append(more);
}
int main() {
  std::thread a(append, "a"), b(append, "b");
  a.join();
  b.join();
  return text.size() != 2;
}
